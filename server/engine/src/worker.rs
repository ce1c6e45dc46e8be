//! What runs unasked: settling, expiring credit, tasks, sealing, maintenance.
//!
//! Every worker is idempotent and may be killed at any point: what it claims it holds only by row locks,
//! which die with its connection. On shutdown each finishes the batch it is in.

pub mod expire;
pub mod maintain;
pub mod reconcile;
pub mod seal;
pub mod settle;
pub mod tasks;

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{Engine, settlement::Patience};

/// Tells workers that there is something to do. A wake-up that nobody waits for is remembered, and a
/// lost one costs no more than the poll interval.
#[derive(Clone, Debug)]
pub struct Wake(watch::Sender<()>);

impl Default for Wake {
    fn default() -> Self {
        Self(watch::Sender::new(()))
    }
}

impl Wake {
    /// Wakes every worker that listens. Cheap: call it after every flush.
    pub fn all(&self) {
        self.0.send_replace(());
    }

    fn listen(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

/// Where a settling transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Point {
    /// Everything is written, nothing committed.
    BeforeCommit,
    /// Committed; the worker does not know yet.
    AfterCommit,
}

/// Lets drills stop a worker at a point of its transaction.
pub trait Checkpoint: Send + Sync {
    /// Called at each point; the worker goes on when it returns.
    fn reached(&self, point: Point) -> BoxFuture<'_, ()>;
}

/// How the workers run.
#[derive(Clone)]
pub struct Settings {
    /// Settling workers in this process.
    pub settlers: i16,
    /// Number of the first of them, when the work is spread over processes.
    pub first_shard: i16,
    /// Settling workers over all processes.
    pub shards: i16,
    /// Events a batch.
    pub batch: i64,
    /// Events a batch while receivers are busy: shorter transactions leave them the disk.
    pub busy_batch: i64,
    /// How long a worker without a wake-up sleeps.
    pub poll: Duration,
    /// How long waiting and failing events wait.
    pub patience: Patience,
    /// Pause between reconciliation runs; none are scheduled when `None`.
    pub reconcile_every: Option<Duration>,
    /// Pause between rounds of sealing; nothing is sealed when `None`.
    pub seal_every: Option<Duration>,
    /// Rejected deliveries to keep.
    pub rejected_deliveries: i32,
    /// Whether receivers are busy.
    pub busy: Arc<dyn Fn() -> bool + Send + Sync>,
    /// For drills; `None` otherwise.
    pub checkpoint: Option<Arc<dyn Checkpoint>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            settlers: 2,
            first_shard: 0,
            shards: 2,
            batch: 500,
            busy_batch: 100,
            poll: Duration::from_millis(250),
            patience: Patience::default(),
            reconcile_every: None,
            seal_every: None,
            rejected_deliveries: 10_000,
            busy: Arc::new(|| false),
            checkpoint: None,
        }
    }
}

/// Starts all workers. They stop after their current batch once `stop` is cancelled; join the set to
/// wait for that.
pub fn spawn(
    engine: &Engine,
    settings: &Settings,
    wake: &Wake,
    stop: &CancellationToken,
) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for number in 0..settings.settlers {
        let worker = settle::Settler::new(
            engine.clone(),
            settings.clone(),
            settings.first_shard + number,
        );
        workers.spawn(worker.run(wake.clone(), stop.clone()));
    }
    workers.spawn(expire::run(engine.clone(), stop.clone()));
    workers.spawn(tasks::run(engine.clone(), stop.clone()));
    workers.spawn(maintain::run(
        engine.clone(),
        settings.rejected_deliveries,
        stop.clone(),
    ));
    if let Some(every) = settings.reconcile_every {
        workers.spawn(reconcile::run(engine.clone(), every, stop.clone()));
    }
    if let Some(every) = settings.seal_every {
        workers.spawn(seal::run(engine.clone(), every, stop.clone()));
    }
    workers
}

/// Sleeps, unless stopped meanwhile; says whether to go on.
async fn pause(stop: &CancellationToken, duration: Duration) -> bool {
    stop.run_until_cancelled(tokio::time::sleep(duration))
        .await
        .is_some()
}

/// The checkpoint that drills ask for in `QUITTANCE_CRASH_AT` (`before_commit` or `after_commit`): the
/// worker says so in the log and stands still there until the process is killed. Debug builds only.
pub fn checkpoint_from_environment() -> Option<Arc<dyn Checkpoint>> {
    if !cfg!(debug_assertions) {
        return None;
    }
    let point = match std::env::var("QUITTANCE_CRASH_AT").ok()?.as_str() {
        "before_commit" => Point::BeforeCommit,
        "after_commit" => Point::AfterCommit,
        _ => return None,
    };
    Some(Arc::new(StandStill(point)))
}

/// Stops at one point for good.
struct StandStill(Point);

impl Checkpoint for StandStill {
    fn reached(&self, point: Point) -> BoxFuture<'_, ()> {
        let here = point == self.0;
        Box::pin(async move {
            if here {
                tracing::warn!(?point, "standing still until killed");
                std::future::pending::<()>().await;
            }
        })
    }
}
