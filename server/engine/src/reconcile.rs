//! Reconciliation: every truth about the books is checked on one snapshot, and what does not hold becomes
//! an exception, one for each thing that is wrong, until it is right.
//!
//! Invariants: one run at a time; what is found twice is one exception that ages; what is not found any
//! more is closed by the run that did not find it, and only when that run looked everywhere. A run whose
//! process died is seen as abandoned by the next, which starts over: nothing of it was written.
//!
//! A full run reads everything. An incremental run reads what was written since the run before, by the
//! transactions that were not over then, so what commits late is not missed; it cannot see what was changed
//! behind it, and closes nothing of what it does not read whole.
//!
//! A rule may freeze a tenant in whose books a run finds too much wrong ([`crate::freeze`]), in the transaction
//! that ends the run.
//!
//! Work that goes on meanwhile is either wholly in the snapshot or not at all, so a busy system has no
//! exceptions. Cost: that of [`crate::books`].

mod store;
pub mod views;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    exception::{self, Cause, Class, Outcome, Reach, Step},
    id::OperatorId,
};
use serde_json::json;
use sqlx::PgConnection;

use crate::{
    Engine,
    audit::{self, By},
    books::{self, Position, Report},
    error::StoreError,
    freeze, statement,
};

/// An event that was due this long ago and has no outcome is stuck.
pub const STUCK_AFTER: TimeDelta = TimeDelta::hours(1);

/// What a run came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Its number.
    pub run: i64,
    /// How much it looked at.
    pub reach: Reach,
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
    /// Checks what the books are supposed to be and brings the exceptions up to it: everything, or what is
    /// new since the run before, or as far as the scheduler should reach now when `reach` is left out. The
    /// first run looks at everything.
    ///
    /// # Errors
    /// [`ReconcileError`]; exceptions are then as they were.
    pub async fn reconcile(
        &self,
        cause: Cause,
        reach: Option<Reach>,
        by: Option<By<'_>>,
    ) -> Result<Tally, ReconcileError> {
        // The lock lives as long as this connection is in its transaction, and dies with its process.
        let mut lock = self.pool().begin().await?;
        if !store::try_lock(&mut lock).await? {
            return Err(ReconcileError::Busy);
        }
        let run = self.begin_run(cause, reach, by).await?;
        let done = self.finish_run(&run).await;
        if done.is_err() {
            let mut conn = self.pool().acquire().await?;
            store::end(&mut conn, run.number, Outcome::Failed, self.clock().now()).await?;
        }
        lock.rollback().await?;
        Ok(done?)
    }

    async fn begin_run(
        &self,
        cause: Cause,
        reach: Option<Reach>,
        by: Option<By<'_>>,
    ) -> Result<Run, ReconcileError> {
        let now = self.clock().now();
        let mut tx = self.pool().begin().await?;
        store::abandon(&mut tx, now).await?;
        let before = store::before(&mut tx).await?;
        let since_full = before.full_at.map(|at| now - at);
        let reach = reach.unwrap_or_else(|| exception::reach(since_full, before.full_is_asked_for));
        let since = before.position.filter(|_| reach == Reach::Incremental);
        let reach = since.map_or(Reach::Full, |_| Reach::Incremental);
        let operator: Option<OperatorId> = by.map(|by| by.operator);
        let number = store::insert(&mut tx, cause, reach, operator, now).await?;
        if let Some(by) = by {
            let object = format!("run_{number}");
            let line = by.did("reconciliation.run", &object, json!({}), None);
            audit::record(&mut tx, self, &line).await?;
        }
        tx.commit().await?;
        Ok(Run {
            number,
            reach,
            since,
            stuck_before: now - STUCK_AFTER,
        })
    }

    async fn finish_run(&self, run: &Run) -> Result<Tally, StoreError> {
        let mut report = books::examine(self.pool(), run.since, Some(run.stuck_before)).await?;
        if run.reach == Reach::Full {
            hold_against_statements(self, &mut report).await?;
        }
        let mut tx = self.pool().begin().await?;
        let accepted = views::accepted(&mut tx, &report.breaks).await?;
        let mut at = 0_usize..;
        report
            .breaks
            .retain(|_| !at.next().is_some_and(|at| accepted.contains(&at)));
        let now = self.clock().now();
        let from = run.since.map(|position| position.horizon);
        store::mark(&mut tx, run.number, from, report.horizon).await?;
        let tally = bring_up_to(&mut tx, run, &report, now).await?;
        store::conclude(&mut tx, &report, &tally, now).await?;
        let open = store::count_open(&mut tx).await?;
        let frozen = freeze::by_rule(&mut tx, self, run.number, &report).await?;
        tx.commit().await?;
        metrics::gauge!("quittance_exceptions").set(u32::try_from(open).unwrap_or(u32::MAX));
        if frozen > 0 {
            let run = run.number;
            tracing::error!(
                run,
                frozen,
                "tenants are frozen: see the freezes in the console"
            );
        }
        Ok(tally)
    }
}

/// A run that goes on.
struct Run {
    number: i64,
    reach: Reach,
    since: Option<Position>,
    stuck_before: DateTime<Utc>,
}

/// Adds what providers' statements disagree with.
async fn hold_against_statements(engine: &Engine, report: &mut Report) -> Result<(), StoreError> {
    let found = statement::check::run(engine, None).await?;
    report.checks.push(Class::StatedUsage);
    if found.is_cut_short {
        report.cut_short.push(Class::StatedUsage);
    }
    report.breaks.extend(found.breaks);
    Ok(())
}

/// Brings the exceptions up to what was found, in four statements however much it is.
async fn bring_up_to(
    conn: &mut PgConnection,
    run: &Run,
    report: &Report,
    now: DateTime<Utc>,
) -> Result<Tally, StoreError> {
    let found: HashMap<_, _> = report
        .breaks
        .iter()
        .map(|one| ((one.check, one.subject.as_str()), one))
        .collect();
    let known = store::known(conn, found.values().copied()).await?;
    let looked = |class: Class| {
        class.is_looked_for_everywhere(run.reach)
            && report.checks.contains(&class)
            && !report.cut_short.contains(&class)
            && !report.unreadable.contains(&class)
    };
    let (mut opened, mut aged, mut reopened, mut closed) = (vec![], vec![], vec![], vec![]);
    let mut new = found.clone();
    for one in &known {
        let again = new.remove(&(one.class, one.subject.as_str()));
        let step = exception::step(Some(one.state), again.is_some(), looked(one.class));
        match (step, again) {
            (Some(Step::Age), Some(found)) => aged.push((one.id, found)),
            (Some(Step::Reopen), Some(found)) => reopened.push((one.id, found)),
            (Some(Step::Close), _) => closed.push(one.id),
            (Some(Step::Open | Step::Age | Step::Reopen) | None, _) => {}
        }
    }
    opened.extend(new.into_values());
    // In an order of their own, so that the same breaks open as the same exceptions.
    opened.sort_by(|a, b| (a.check, &a.subject).cmp(&(b.check, &b.subject)));
    store::open(conn, &opened, run.number, now).await?;
    store::reopen(conn, &reopened, run.number, now).await?;
    store::age(conn, &[aged, reopened.clone()].concat(), run.number, now).await?;
    store::close(conn, &closed, run.number, now).await?;
    Ok(Tally {
        run: run.number,
        reach: run.reach,
        found: found.len(),
        opened: opened.len() + reopened.len(),
        closed: closed.len(),
    })
}
