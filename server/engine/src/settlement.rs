//! Settling: events become settlements, in one transaction a batch.
//!
//! Invariants: an event's outcome, its settlements, their transfers, the balances and the job commit
//! together or not at all; no network is touched in between; locks are taken in the order events, the share
//! of the freezes' lock, jobs by key, wallets by account, and platform accounts last. Everything that is
//! decided is decided in `domain` on rows under lock.
//!
//! Cost: about a dozen statements a batch, whatever its size.

mod plan;
mod store;
pub mod views;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    event::{EventState, WaitReason},
    id::{EventId, TenantId},
    money::{AmountError, Currency},
    price::Price,
};
use sqlx::{PgConnection, PgPool};

use crate::{
    Engine,
    error::StoreError,
    freeze,
    ledger::{self, PostError},
};

use self::plan::{Jobs, Plan};
pub use self::store::Due;

/// Which due events to take.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// The longest due of one shard.
    Shard {
        /// This worker's number, from 0.
        shard: i16,
        /// How many workers share the work.
        of: i16,
        /// How many to take.
        limit: i64,
    },
    /// These, as far as they are still due.
    Only(&'a [EventId]),
}

/// How long things wait.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long an event may wait for its job before it is rejected.
    pub unknown_job: TimeDelta,
    /// Delay before the second look at an event that waits; doubles each time.
    pub first_wait: TimeDelta,
    /// Longest such delay.
    pub longest_wait: TimeDelta,
    /// Longest such delay of an event whose job is unknown, or that a freeze holds back. It is woken when the
    /// job turns up or the freeze is lifted, and what waits for that must not crowd out what can go on.
    pub longest_unknown: TimeDelta,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            unknown_job: TimeDelta::hours(24),
            first_wait: TimeDelta::milliseconds(250),
            longest_wait: TimeDelta::seconds(60),
            longest_unknown: TimeDelta::minutes(15),
        }
    }
}

impl Patience {
    /// When an event that was looked at `attempts` times before is looked at again.
    pub fn next(&self, now: DateTime<Utc>, attempts: i16) -> DateTime<Utc> {
        self.next_within(now, attempts, self.longest_wait)
    }

    /// The same for one that waits for something.
    pub fn next_for(&self, reason: WaitReason, now: DateTime<Utc>, attempts: i16) -> DateTime<Utc> {
        let longest = match reason {
            WaitReason::Job | WaitReason::TenantFrozen | WaitReason::SourceFrozen => {
                self.longest_unknown
            }
            WaitReason::Funds | WaitReason::Completion => self.longest_wait,
        };
        self.next_within(now, attempts, longest)
    }

    fn next_within(&self, now: DateTime<Utc>, attempts: i16, longest: TimeDelta) -> DateTime<Utc> {
        let doublings = u32::try_from(attempts).unwrap_or(0).min(30);
        let delay = self
            .first_wait
            .checked_mul(1 << doublings)
            .unwrap_or(longest);
        now + delay.min(longest)
    }
}

/// Why a batch was not settled; the transaction must be rolled back.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// The ledger refused.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Amounts that do not belong together.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// Reading or deciding panicked.
    #[error("processing {0} panicked")]
    Panicked(EventId),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SettleError {
    /// The storage error at the bottom, if that is what it is.
    pub fn storage(&self) -> Option<&StoreError> {
        match self {
            Self::Post(PostError::Store(error) | PostError::Overdrawn(error))
            | Self::Store(error) => Some(error),
            Self::Post(_) | Self::Amount(_) | Self::Panicked(_) => None,
        }
    }
}

/// What a batch came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Events by what became of them.
    pub events: HashMap<EventState, u64>,
    /// Settlements written.
    pub settlements: u64,
    /// Jobs that changed.
    pub jobs: usize,
}

/// Prices by version. They are immutable, so what was read once is true for ever.
#[derive(Debug, Default)]
pub struct Prices(Mutex<HashMap<PriceKey, Arc<Price>>>);

type PriceKey = (String, Currency, i32);

impl Prices {
    /// Prices kept before the memory is emptied and filled anew.
    const LIMIT: usize = 10_000;

    async fn load(
        &self,
        conn: &mut PgConnection,
        mut wanted: Vec<PriceKey>,
    ) -> Result<HashMap<PriceKey, Arc<Price>>, StoreError> {
        wanted.sort();
        wanted.dedup();
        let known = |key: &PriceKey| self.lock().get(key).cloned();
        let mut found: HashMap<_, _> = wanted
            .iter()
            .filter_map(|key| known(key).map(|price| (key.clone(), price)))
            .collect();
        wanted.retain(|key| !found.contains_key(key));
        if wanted.is_empty() {
            return Ok(found);
        }
        for price in store::load_prices(conn, &wanted).await? {
            found.insert(
                (price.model.clone(), price.currency, price.version),
                Arc::new(price),
            );
        }
        let mut memory = self.lock();
        if memory.len() > Self::LIMIT {
            memory.clear();
        }
        memory.extend(
            found
                .iter()
                .map(|(key, price)| (key.clone(), price.clone())),
        );
        drop(memory);
        Ok(found)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<PriceKey, Arc<Price>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes due events and locks them, oldest first. Events another worker holds are passed over.
///
/// # Errors
/// [`StoreError`].
pub async fn claim(
    conn: &mut PgConnection,
    claim: Claim<'_>,
    now: DateTime<Utc>,
) -> Result<Vec<Due>, StoreError> {
    match claim {
        Claim::Shard { shard, of, limit } => {
            store::claim_shard(conn, (shard, of), limit, now).await
        }
        Claim::Only(events) => store::claim_only(conn, events).await,
    }
}

/// What settling needs besides the transaction and the events.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The installation.
    pub engine: &'a Engine,
    /// Prices read before.
    pub prices: &'a Prices,
    /// How long things wait.
    pub patience: Patience,
    /// Compare with settlements that exist already instead of expecting none: how the losing side of a
    /// unique race learns what was recorded.
    pub compare: bool,
}

/// Settles claimed events inside the caller's transaction.
///
/// # Errors
/// [`SettleError`]; nothing of the batch may be committed then.
pub async fn settle(
    conn: &mut PgConnection,
    setting: Setting<'_>,
    events: &[Due],
    now: DateTime<Utc>,
) -> Result<Report, SettleError> {
    let read = |event: &Due| {
        catch_unwind(AssertUnwindSafe(|| plan::read(event)))
            .map_err(|_| SettleError::Panicked(event.id))
    };
    let readings = events.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<_> = events
        .iter()
        .zip(&readings)
        .filter_map(|(event, reading)| plan::name(event, reading))
        .collect();
    let frozen = freeze::seen(conn, now - setting.patience.unknown_job).await?;
    let jobs = Jobs::new(store::lock_jobs(conn, &names).await?);
    let prices = setting.prices.load(conn, jobs.price_keys()).await?;
    let recorded = if setting.compare {
        store::recorded(conn, &jobs.keys()).await?
    } else {
        HashMap::new()
    };
    let locked = if readings.iter().any(plan::may_move_money) {
        ledger::lock(conn, &jobs.wallets(), &jobs.keys()).await?
    } else {
        ledger::Locked::default()
    };
    let mut plan = Plan::new(
        setting,
        frozen,
        jobs,
        prices,
        recorded,
        ledger::Batch::new(locked, now),
        now,
    );
    for (event, reading) in events.iter().zip(readings) {
        // A panic is this event's fault alone, so it must not take the worker down.
        catch_unwind(AssertUnwindSafe(|| plan.settle(event, reading)))
            .map_err(|_| SettleError::Panicked(event.id))??;
    }
    write(conn, plan, now).await
}

/// Writes what was planned, in sets.
async fn write(
    conn: &mut PgConnection,
    plan: Plan<'_>,
    now: DateTime<Utc>,
) -> Result<Report, SettleError> {
    let Plan {
        jobs,
        batch,
        transitions,
        outcomes,
        ..
    } = plan;
    let changed: Vec<_> = jobs.changed().collect();
    let mut report = Report {
        settlements: batch.len() as u64,
        jobs: changed.len(),
        ..Report::default()
    };
    for outcome in &outcomes {
        *report.events.entry(outcome.state).or_default() += 1;
    }
    store::save_jobs(conn, &changed, now).await?;
    store::insert_transitions(conn, &transitions, now).await?;
    store::save_outcomes(conn, &outcomes, now).await?;
    // Last, because it ends with the accounts that all wallets of a tenant share.
    batch.write(conn).await?;
    Ok(report)
}

/// Puts an event aside that cannot be processed: it stays visible and is tried again, later each time.
///
/// # Errors
/// [`StoreError`].
pub async fn set_aside(
    conn: &mut PgConnection,
    event: EventId,
    reason: &str,
    patience: Patience,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let Some(attempts) = store::lock_due(conn, event).await? else {
        return Ok(());
    };
    store::fail(conn, event, reason, patience.next(now, attempts)).await
}

/// Waits until nobody holds these events any more, and says how many of them are decided. After a
/// commit whose answer was lost this tells whether it happened: outcomes commit with the settlements.
///
/// # Errors
/// [`StoreError`].
pub async fn decided_among(conn: &mut PgConnection, events: &[EventId]) -> Result<u64, StoreError> {
    store::decided_among(conn, events).await
}

/// Makes the events of a tenant due that wait for funds. A statement of its own, after the commit that
/// brought the funds: workers lock events before wallets, so a wallet's transaction must not.
///
/// # Errors
/// [`StoreError`].
pub async fn wake_for_funds(
    pool: &PgPool,
    tenant: TenantId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    store::wake_for_funds(pool, tenant, now).await
}
