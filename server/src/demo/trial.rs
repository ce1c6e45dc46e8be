//! Follows the provider's reports, and at the end of a bounded run holds the product to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use engine::{Engine, books};
use tokio::time::{interval, sleep};

use super::{
    Failure,
    crew::Crew,
    proof::{self, Check, Counted, Deviation, Planned},
    screen::Screen,
    wire::{Note, Part, Tally},
};

/// How long nothing may move before a run counts as stuck.
const STALL: Duration = Duration::from_secs(30);
/// How often the product is asked how much it has before it.
const ASK_EVERY: Duration = Duration::from_millis(400);
/// Jobs and troubles that are named; the rest is counted.
const NAMED: usize = 20;

/// What was heard from the provider.
#[derive(Default)]
struct Heard {
    jobs: BTreeMap<u64, Option<String>>,
    /// Jobs whose end was told to whoever asked.
    answered: BTreeSet<u64>,
    troubles: Vec<Deviation>,
    tally: Tally,
    done: bool,
}

/// Runs until the provider has played its part and, with `exit`, until that is verified; without it,
/// for ever. `before` was counted before the provider began.
///
/// # Errors
/// When something is not as it should be; it has been printed.
pub(super) async fn run(
    engine: &Engine,
    part: &Part,
    (before, mut crew): (Counted, Crew),
    screen: &mut Screen,
    exit: bool,
) -> Result<(), Failure> {
    let mut heard = Heard::default();
    let mut tick = interval(ASK_EVERY);
    while !(exit && heard.done) {
        tokio::select! {
            note = crew.next() => match note? {
                Some(note) => heard.take(note, screen),
                None => return Err("the provider ended before its part was played".into()),
            },
            _ = tick.tick() => screen.progress(&heard.tally, engine.events_due().await?),
        }
    }
    crew.stop().await?;
    settle_down(engine, part, &heard, screen).await?;
    let after = counted_since(engine, &before, heard.tally.turned_away).await?;
    let deviations = proof::deviations(part, &heard.jobs, &heard.answered).await?;
    let books = books::verify(engine.pool()).await?;
    let mut checks = proof::checks(&Planned::of(part), &heard.tally, &after);
    checks.push(proof::exceptions(engine).await?);
    screen.line("");
    report(part, &heard, &checks, &deviations, &books)
}

impl Heard {
    fn take(&mut self, note: Note, screen: &mut Screen) {
        match note {
            Note::Progress { tally } => self.tally = tally,
            Note::Listening { .. } => {}
            Note::Answered { index } => {
                self.answered.insert(index);
            }
            Note::Job { index, job } => {
                self.jobs.insert(index, job);
            }
            Note::Trouble { index, text } => {
                let trouble = Deviation { index, text };
                if self.troubles.len() < NAMED {
                    screen.line(&format!("provider     {trouble}"));
                }
                self.troubles.push(trouble);
            }
            Note::Done { tally } => {
                self.tally = tally;
                self.done = true;
            }
        }
    }
}

/// Waits until no event is due. Fails when nothing moves any more, and names the jobs concerned.
async fn settle_down(
    engine: &Engine,
    part: &Part,
    heard: &Heard,
    screen: &mut Screen,
) -> Result<(), Failure> {
    let (mut least, mut moved) = (i64::MAX, Instant::now());
    loop {
        let due = engine.events_due().await?;
        screen.progress(&heard.tally, due);
        if due == 0 {
            return Ok(());
        }
        if due < least {
            (least, moved) = (due, Instant::now());
        }
        if moved.elapsed() > STALL {
            screen.line(&format!("{due} events are still due and nothing has moved for {STALL:?}. Jobs that are not settled:"));
            name(&proof::deviations(part, &heard.jobs, &heard.answered).await?);
            return Err(
                "settlement is stuck: see the console's events in state waiting and failed".into(),
            );
        }
        sleep(ASK_EVERY).await;
    }
}

fn name(deviations: &[Deviation]) {
    for deviation in deviations.iter().take(NAMED) {
        println!("  {deviation}");
    }
    if deviations.len() > NAMED {
        println!("  … and {} more", deviations.len() - NAMED);
    }
}

/// Counts what the inbox holds.
///
/// # Errors
/// When storage fails.
pub(super) async fn count(engine: &Engine) -> Result<Counted, Failure> {
    let totals = engine.inbox_totals().await?;
    let whole = |count: i64| u64::try_from(count).unwrap_or(0);
    Ok(Counted {
        events: whole(totals.events),
        duplicates: whole(totals.duplicates),
        conflicts: whole(totals.conflicts),
        rejected: whole(totals.rejected),
    })
}

/// Refused deliveries are put on record after their answer, so they may be a moment behind.
async fn counted_since(
    engine: &Engine,
    before: &Counted,
    turned_away: u64,
) -> Result<Counted, Failure> {
    let asked = Instant::now();
    loop {
        let now = count(engine).await?;
        let since = Counted {
            events: now.events - before.events,
            duplicates: now.duplicates - before.duplicates,
            conflicts: now.conflicts - before.conflicts,
            rejected: now.rejected.saturating_sub(before.rejected),
        };
        if since.rejected >= turned_away || asked.elapsed() > Duration::from_secs(5) {
            return Ok(since);
        }
        sleep(ASK_EVERY).await;
    }
}

/// Prints the summary.
fn report(
    part: &Part,
    heard: &Heard,
    checks: &[Check],
    deviations: &[Deviation],
    books: &books::Report,
) -> Result<(), Failure> {
    let as_planned = part.jobs - u64::try_from(deviations.len()).unwrap_or(part.jobs);
    println!("  {:<44} {:>16} {:>12}", "", "expected", "seen");
    let jobs = Check::equal("jobs in their state, at their price", part.jobs, as_planned);
    println!("{jobs}");
    for check in checks {
        println!("{check}");
    }
    let troubles = Check::equal(
        "answers that no right product gives",
        0,
        heard.troubles.len(),
    );
    println!("{troubles}");
    println!(
        "  lost answers {}, deliveries acknowledged {}, attempts made again {}",
        heard.tally.lost, heard.tally.acknowledged, heard.tally.retried
    );
    let examined = &books.examined;
    println!(
        "  books: {} settlements, {} transfers, {} accounts and {} lots examined by {} checks, {} breaks",
        examined.settlements,
        examined.transfers,
        examined.accounts,
        examined.lots,
        books.checks.len(),
        books.breaks.len()
    );
    for found in books.breaks.iter().take(NAMED) {
        println!("  {}: {}", found.check, found.line);
    }
    if !deviations.is_empty() {
        println!("jobs that are not as planned (open them in the console, or GET /v1/jobs/…):");
        name(deviations);
    }
    let right = deviations.is_empty()
        && heard.troubles.is_empty()
        && checks.iter().all(|check| check.holds)
        && books.in_order();
    if right {
        println!(
            "all of it is right: {} jobs from seed {}",
            part.jobs, part.seed
        );
        Ok(())
    } else {
        Err("the run is not as planned; what is WRONG above says where".into())
    }
}
