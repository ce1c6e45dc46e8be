//! What the provider tells about a job, and what goes wrong on the way.

use rand::{RngExt as _, rngs::StdRng};

use super::{Quantities, Story};
use crate::demo::{
    cast::{Model, Sender},
    rates::Rates,
};

/// How long work of which nobody is told goes on after what was told last.
const UNTOLD_AFTER_MS: u32 = 150;

/// What an event says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::demo) enum Word {
    /// It was taken up.
    Starting,
    /// It runs.
    Processing,
    /// It is done.
    Succeeded,
    /// A part is done.
    PartlyDone,
    /// The usage was told wrong before.
    Corrected,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
    /// Something nobody asked for.
    Unheard,
}

/// How someone without the secret tries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::demo) enum Forgery {
    /// Signed with another secret.
    OtherSecret,
    /// A true signature over another body.
    OtherBody,
    /// A true signature, captured long ago.
    Stale,
    /// No signature.
    Unsigned,
}

/// One event of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::demo) struct Event {
    /// What it says.
    pub(in crate::demo) word: Word,
    /// Usage it tells.
    pub(in crate::demo) usage: Option<Quantities>,
    /// Revision of that usage; 0 without any.
    pub(in crate::demo) revision: i32,
    /// When it occurs, in milliseconds after the work began. No two of a job occur together.
    pub(in crate::demo) occurs_ms: u32,
    /// How long it is on its way.
    pub(in crate::demo) delay_ms: u32,
    /// Further deliveries under the same id.
    pub(in crate::demo) copies: u8,
    /// Whether those go out together with the first.
    pub(in crate::demo) at_once: bool,
    /// Attempts whose answer is never read.
    pub(in crate::demo) lost_answers: u8,
    /// An attempt to forge it first.
    pub(in crate::demo) forgery: Option<Forgery>,
    /// Another usage that follows under the same id.
    pub(in crate::demo) conflict: Option<Quantities>,
    /// Sent by the test environment about live work.
    pub(in crate::demo) stray: bool,
}

impl Event {
    /// Whether it says how the work stands.
    pub(in crate::demo) fn is_about_the_work(&self) -> bool {
        self.word != Word::Unheard
    }
}

/// How work ends of which nobody is told.
pub(super) fn untold(events: &[Event], used: &Quantities) -> Event {
    let last = events.iter().map(|event| event.occurs_ms).max();
    Event {
        word: Word::Succeeded,
        usage: Some(used.clone()),
        revision: 1,
        occurs_ms: last.unwrap_or(0) + UNTOLD_AFTER_MS,
        delay_ms: 0,
        copies: 0,
        at_once: false,
        lost_answers: 0,
        forgery: None,
        conflict: None,
        stray: false,
    }
}

/// What the events are drawn for.
pub(super) struct Scene<'a> {
    pub(super) story: Story,
    pub(super) sender: Sender,
    pub(super) model: &'static Model,
    pub(super) used: &'a Quantities,
}

/// Draws the events of a job, in the order they occur.
pub(super) fn draw(rng: &mut StdRng, rates: &Rates, scene: &Scene<'_>) -> Vec<Event> {
    let words: &[Word] = match scene.story {
        Story::Succeeds | Story::CancelTooLate => &[Word::Succeeded],
        Story::SucceedsInPart => &[Word::PartlyDone],
        Story::Fails => &[Word::Failed],
        Story::FailsThenSucceeds => &[Word::Failed, Word::Succeeded],
        Story::CompletesTwice => &[Word::Succeeded, Word::Succeeded],
        Story::IsCorrected => &[Word::Succeeded, Word::Corrected],
        Story::CancelHonoured => &[Word::Cancelled],
        Story::NeverTold => &[],
        Story::CancelledBeforeDispatch | Story::Unaffordable | Story::Blocked => return Vec::new(),
    };
    let mut events = Vec::with_capacity(5);
    let mut at = rng.random_range(2..20);
    for word in [Word::Starting, Word::Processing] {
        // The generic event has one word for both.
        if word == Word::Processing && scene.sender != Sender::Replicate {
            continue;
        }
        events.push(event(rng, rates, scene, word, at));
        at += rng.random_range(10..80);
    }
    if rates.unknown_events.hits(rng) {
        events.push(event(rng, rates, scene, Word::Unheard, at));
        at += rng.random_range(5..20);
    }
    at += rng.random_range(20..250);
    for word in words {
        events.push(event(rng, rates, scene, *word, at));
        at += rng.random_range(10..120);
    }
    distinguish(&mut events, scene.model);
    if rates.reorder.hits(rng) {
        overtake(&mut events);
    }
    if rates.strays.hits(rng) && scene.sender == Sender::Acme {
        let stray = event(rng, rates, scene, Word::Succeeded, at);
        events.push(Event {
            stray: true,
            conflict: None,
            ..stray
        });
    }
    events
}

fn event(rng: &mut StdRng, rates: &Rates, scene: &Scene<'_>, word: Word, occurs_ms: u32) -> Event {
    let told = matches!(word, Word::Succeeded | Word::PartlyDone | Word::Corrected);
    let forgeries = [
        Forgery::OtherSecret,
        Forgery::OtherBody,
        Forgery::Stale,
        Forgery::Unsigned,
    ];
    let (duplicated, copies, at_once) = (
        rates.duplicates.hits(rng),
        rng.random_range(1..=3),
        rng.random_range(0..2) == 0,
    );
    let (lost, times) = (rates.lost_answers.hits(rng), rng.random_range(1..=2));
    let (forged, forgery) = (
        rates.wrong_signatures.hits(rng),
        forgeries[rng.random_range(0..forgeries.len())],
    );
    let contradicted = rates.conflicts.hits(rng);
    Event {
        word,
        usage: told.then(|| scene.used.clone()),
        revision: match word {
            Word::Corrected => 2,
            _ => i32::from(told),
        },
        occurs_ms,
        delay_ms: rng.random_range(0..=rates.delay.ms()),
        copies: if duplicated { copies } else { 0 },
        at_once,
        lost_answers: if lost { times } else { 0 },
        forgery: forged.then_some(forgery),
        conflict: (told && contradicted).then(|| other(scene.used, scene.model, 7)),
        stray: false,
    }
}

/// Completions of one job tell different usages.
fn distinguish(events: &mut [Event], model: &Model) {
    let mut told = 0;
    for event in events {
        if let Some(usage) = &mut event.usage {
            *usage = other(usage, model, told);
            if let Some(conflict) = &mut event.conflict {
                *conflict = other(usage, model, 7);
            }
            told += 1;
        }
    }
}

/// The same quantities, the first one larger by so many steps.
fn other(usage: &Quantities, model: &Model, steps: u64) -> Quantities {
    let mut usage = usage.clone();
    if let (Some((_, quantity)), Some(meter)) = (usage.first_mut(), model.meters.first()) {
        *quantity = super::text(super::scaled(quantity, 100, meter) + steps, meter);
    }
    usage
}

/// The last event is sent before the ones that occurred before it.
fn overtake(events: &mut [Event]) {
    let Some((last, earlier)) = events.split_last_mut() else {
        return;
    };
    last.delay_ms = 0;
    for (place, event) in (1..).zip(earlier) {
        event.delay_ms = event
            .delay_ms
            .max(last.occurs_ms - event.occurs_ms + 5 * place);
    }
}
