//! Reconciliation: every truth about the books is checked on one snapshot, and what does not hold becomes
//! an exception, one for each thing that is wrong, until it is right.
//!
//! Invariants: one run at a time; what is found twice is one exception that ages; what is not found any
//! more is closed by the run that did not find it, and only when that run looked everywhere. A run whose
//! process died is seen as abandoned by the next, which starts over: nothing of it was written.
//!
//! Work that goes on meanwhile is either wholly in the snapshot or not at all, so a busy system has no
//! exceptions. Cost: that of [`crate::books`].

mod store;
pub mod views;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    exception::{self, Cause, Class, Outcome, Step},
    id::OperatorId,
};
use serde_json::json;
use sqlx::PgConnection;

use crate::{
    Engine,
    audit::{self, By},
    books::{self, Break, Report},
    error::StoreError,
};

/// An event that was due this long ago and has no outcome is stuck.
pub const STUCK_AFTER: TimeDelta = TimeDelta::hours(1);

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Its number.
    pub run: i64,
    /// Things that are wrong.
    pub found: usize,
    /// Those of them that were not wrong before.
    pub opened: usize,
    /// Exceptions that are right again.
    pub closed: usize,
}

/// Why there was no run.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// Another run goes on.
    #[error("a reconciliation run is going on; wait until it has finished")]
    Busy,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ReconcileError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Engine {
    /// Checks everything and brings the exceptions up to it.
    ///
    /// # Errors
    /// [`ReconcileError`]; exceptions are then as they were.
    pub async fn reconcile(
        &self,
        cause: Cause,
        by: Option<By<'_>>,
    ) -> Result<Tally, ReconcileError> {
        // The lock lives as long as this connection is in its transaction, and dies with its process.
        let mut lock = self.pool().begin().await?;
        if !store::try_lock(&mut lock).await? {
            return Err(ReconcileError::Busy);
        }
        let now = self.clock().now();
        let run = self.begin_run(cause, by, now).await?;
        let done = self.finish_run(run, now).await;
        if done.is_err() {
            let mut conn = self.pool().acquire().await?;
            store::end(&mut conn, run, Outcome::Failed, self.clock().now()).await?;
        }
        lock.rollback().await?;
        Ok(done?)
    }

    async fn begin_run(
        &self,
        cause: Cause,
        by: Option<By<'_>>,
        now: DateTime<Utc>,
    ) -> Result<i64, ReconcileError> {
        let mut tx = self.pool().begin().await?;
        store::abandon(&mut tx, now).await?;
        let operator: Option<OperatorId> = by.map(|by| by.operator);
        let run = store::insert(&mut tx, cause, operator, now).await?;
        if let Some(by) = by {
            let object = format!("run_{run}");
            let line = by.did("reconciliation.run", &object, json!({}), None);
            audit::record(&mut tx, self, &line).await?;
        }
        tx.commit().await?;
        Ok(run)
    }

    async fn finish_run(&self, run: i64, started: DateTime<Utc>) -> Result<Tally, StoreError> {
        let report = books::examine(self.pool(), Some(started - STUCK_AFTER)).await?;
        let mut tx = self.pool().begin().await?;
        let now = self.clock().now();
        let tally = bring_up_to(&mut tx, run, &report, now).await?;
        store::conclude(&mut tx, &report, tally, now).await?;
        tx.commit().await?;
        metrics::gauge!("quittance_exceptions").set(u32::try_from(tally.found).unwrap_or(u32::MAX));
        Ok(tally)
    }
}

/// Brings the exceptions up to what was found.
async fn bring_up_to(
    conn: &mut PgConnection,
    run: i64,
    report: &Report,
    now: DateTime<Utc>,
) -> Result<Tally, StoreError> {
    let known = store::known(conn, &report.breaks).await?;
    let looked =
        |class: Class| report.checks.contains(&class) && !report.cut_short.contains(&class);
    let mut tally = Tally {
        run,
        found: report.breaks.len(),
        ..Tally::default()
    };
    for found in &report.breaks {
        let same = known
            .iter()
            .find(|one| one.class == found.check && one.subject == found.subject);
        let step = exception::step(same.map(|one| one.state), true, looked(found.check));
        match (step, same) {
            (Some(Step::Age), Some(one)) => store::age(conn, one.id, found, run, now).await?,
            (Some(Step::Reopen), Some(one)) => {
                store::reopen(conn, one.id, found, run, now).await?;
                tally.opened += 1;
            }
            _ => {
                store::open(conn, found, run, now).await?;
                tally.opened += 1;
            }
        }
    }
    for one in &known {
        let is_found = report
            .breaks
            .iter()
            .any(|found: &Break| found.check == one.class && found.subject == one.subject);
        if exception::step(Some(one.state), is_found, looked(one.class)) == Some(Step::Close) {
            store::close(conn, one.id, run, now).await?;
            tally.closed += 1;
        }
    }
    Ok(tally)
}
