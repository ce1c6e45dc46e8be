//! Words for tasks.

use domain::task::{Kind, Outcome, Promise, State};
use engine::task::views::Task;

use crate::ui::Tone;
use crate::words::count;

/// What a task is about.
pub(super) fn headline(task: &Task) -> String {
    match task.kind {
        Kind::Replay => format!("Look at {} again", count(task.things, "event", "events")),
        Kind::Repair => format!(
            "Put {} right",
            count(task.things, "exception", "exceptions")
        ),
    }
}

/// How a task stands, for the eye and in words.
pub(super) fn state(task: &Task) -> (Tone, String) {
    let told = task.done + task.refused;
    match task.state {
        State::Draft => (Tone::Attention, "Not started".to_owned()),
        State::Running => (Tone::Moving, format!("{told} of {}", task.things)),
        State::Done if task.refused > 0 => {
            (Tone::Attention, format!("Done, {} refused", task.refused))
        }
        State::Done => (Tone::Good, "Done".to_owned()),
        State::Cancelled => (
            Tone::Neutral,
            format!("Stopped after {told} of {}", task.things),
        ),
    }
}

/// What a rehearsal came to.
pub(super) const fn promise_words(promise: Promise) -> (Tone, &'static str) {
    match promise {
        Promise::Posts => (Tone::Good, "Posts"),
        Promise::Changes => (Tone::Good, "Changes, no money"),
        Promise::Nothing => (Tone::Neutral, "Nothing new"),
        Promise::Cannot => (Tone::Attention, "Cannot"),
    }
}

/// What came of a thing.
pub(super) const fn outcome_words(outcome: Outcome) -> (Tone, &'static str) {
    match outcome {
        Outcome::Done => (Tone::Good, "Done"),
        Outcome::Refused => (Tone::Attention, "Refused"),
    }
}
