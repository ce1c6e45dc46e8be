//! The four figures and two charts of the first page.
//!
//! Cost: counts are bounded, the last hour is read by its block range, and days that are over are summed
//! up once per process and remembered: settlements are never changed, so neither is a day that is over.

mod views;

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use chrono::{DateTime, Days, NaiveDate, TimeDelta, Utc};
use domain::{
    event::EventState,
    exception::Outcome,
    money::{Amount, Currency},
    settlement::Phase,
};
use sqlx::PgConnection;

use crate::{
    Engine,
    error::StoreError,
    exception,
    freeze::{self, views::Counts},
    reconcile,
};

pub use self::views::MOST;

/// Days of the money chart, today included.
const DAYS: u64 = 14;
/// Minutes of the pace chart.
const MINUTES: i64 = 60;
/// How long today's sums are shown before they are read again.
const FRESH: TimeDelta = TimeDelta::seconds(10);
/// A day is over for good this long after midnight: transactions that began on it have ended.
const SETTLING: TimeDelta = TimeDelta::minutes(15);

/// What the first page shows. Counts stop at [`MOST`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overview {
    /// Jobs without a final verdict.
    pub in_flight: Backlog,
    /// Events a worker should have looked at by now.
    pub due: Backlog,
    /// Events that wait, failed, were rejected or contradict what was settled, by state.
    pub attention: BTreeMap<EventState, i64>,
    /// The same key with other content, undecided.
    pub conflicts: i64,
    /// Open exceptions, of either mode.
    pub exceptions: exception::views::Open,
    /// The newest reconciliation run could not be finished, so nobody knows whether the books hold.
    pub unchecked: bool,
    /// What is frozen.
    pub frozen: Counts,
    /// How long events take to their outcome.
    pub speed: Speed,
    /// Deliveries refused in the last day, the newest group first.
    pub refused: Vec<Refused>,
    /// The last hour by minute, oldest first, without gaps.
    pub pace: Vec<Minute>,
    /// The last days, oldest first.
    pub days: Vec<Day>,
}

/// How many, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// How many, at most [`MOST`].
    pub count: i64,
    /// Since when the oldest of them waits.
    pub oldest: Option<DateTime<Utc>>,
}

/// How long the newest events took from acceptance to their outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speed {
    /// How many were measured.
    pub measured: i64,
    /// Half of them took no longer.
    pub median: TimeDelta,
    /// All but one in a hundred took no longer.
    pub slow: TimeDelta,
}

/// Refused deliveries of one source for one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// Source named in the URL.
    pub source: String,
    /// Why, as a code.
    pub reason: String,
    /// How many.
    pub count: i64,
    /// When the newest arrived.
    pub last: DateTime<Utc>,
}

/// One minute of traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Minute {
    /// When it began.
    pub at: DateTime<Utc>,
    /// Events accepted.
    pub accepted: i64,
    /// Deliveries of events we had.
    pub duplicates: i64,
    /// Jobs settled: captures, releases and adjustments written.
    pub settled: i64,
}

/// Money of one day, by what it was for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Day {
    /// The day, in UTC.
    pub day: NaiveDate,
    /// Sums by mode, currency and phase.
    pub sums: Vec<DaySum>,
}

/// What one phase came to on one day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DaySum {
    /// True for real money.
    pub livemode: bool,
    /// The phase.
    pub phase: Phase,
    /// How many settlements.
    pub count: i64,
    /// Their sum.
    pub amount: Amount,
}

/// Sums by day, and when each was read.
type SumsByDay = BTreeMap<NaiveDate, (DateTime<Utc>, Vec<DaySum>)>;

/// Days summed up before.
#[derive(Debug, Default)]
pub struct Memory(Mutex<SumsByDay>);

/// Reads the first page of a mode. How fast events go and what was refused is told of both modes: what a
/// refused delivery was for is not known.
///
/// # Errors
/// [`StoreError`].
pub async fn read(engine: &Engine, livemode: bool) -> Result<Overview, StoreError> {
    let now = engine.clock().now();
    let mut conn = engine.pool().acquire().await?;
    let in_flight = views::in_flight(&mut conn, livemode).await?;
    let due = views::due(&mut conn, now).await?;
    let attention = views::attention(&mut conn, livemode).await?;
    let conflicts = views::conflicts(&mut conn, livemode).await?;
    let exceptions = exception::views::open(&mut conn, now).await?;
    let unchecked = reconcile::views::last_outcome(&mut conn).await? == Some(Outcome::Failed);
    let frozen = freeze::views::counts(&mut conn, livemode).await?;
    let speed = views::speed(&mut conn).await?;
    let refused = views::refused(&mut conn, now - TimeDelta::days(1)).await?;
    let from = now - TimeDelta::minutes(MINUTES - 1);
    let from = from
        - TimeDelta::nanoseconds(
            from.timestamp_nanos_opt()
                .unwrap_or(0)
                .rem_euclid(60_000_000_000),
        );
    let pace = views::pace(&mut conn, from, MINUTES).await?;
    let mut days = Vec::new();
    for back in (0..DAYS).rev() {
        let Some(day) = now.date_naive().checked_sub_days(Days::new(back)) else {
            continue;
        };
        let sums = match engine.overview_memory().recall(day, now) {
            Some(sums) => sums,
            None => {
                let sums = views::day(&mut conn, day).await?;
                engine.overview_memory().remember(day, now, sums.clone());
                sums
            }
        };
        days.push(Day { day, sums });
    }
    Ok(Overview {
        in_flight,
        due,
        attention,
        conflicts,
        exceptions,
        unchecked,
        frozen,
        speed,
        refused,
        pace,
        days,
    })
}

impl Memory {
    fn recall(&self, day: NaiveDate, now: DateTime<Utc>) -> Option<Vec<DaySum>> {
        let memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_at, sums) = memory.get(&day)?;
        let over = day.succ_opt()?.and_time(chrono::NaiveTime::MIN).and_utc() + SETTLING;
        (*read_at >= over || now - *read_at < FRESH).then(|| sums.clone())
    }

    fn remember(&self, day: NaiveDate, now: DateTime<Utc>, sums: Vec<DaySum>) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(day, (now, sums));
        memory.retain(|kept, _| now.date_naive() - *kept < TimeDelta::days(2 * DAYS as i64));
    }
}

fn currency(code: &str) -> Result<Currency, StoreError> {
    code.parse()
        .map_err(|error| StoreError::inconsistent("settlements", "currency", error))
}

/// How many events of a mode wait for a person or for something to turn up, by state; counting stops
/// where the overview's does.
///
/// # Errors
/// [`StoreError`].
pub async fn attention(
    conn: &mut PgConnection,
    livemode: bool,
) -> Result<BTreeMap<EventState, i64>, StoreError> {
    views::attention(conn, livemode).await
}

/// Contents of a mode that contradict an event and wait for a decision, at most [`MOST`].
///
/// # Errors
/// [`StoreError`].
pub async fn contradicted(conn: &mut PgConnection, livemode: bool) -> Result<i64, StoreError> {
    views::conflicts(conn, livemode).await
}
