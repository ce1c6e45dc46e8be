//! The settling worker: claims due events and settles them a batch at a time.
//!
//! A batch that fails is split until the event at fault stands alone; that one is set aside, visibly,
//! and the others go through. A fault of the storage itself is nobody's event: the worker waits and
//! tries again. A commit whose answer was lost is looked up before anything else is done.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::{event::EventState, id::EventId};
use tokio_util::sync::CancellationToken;

use super::{Point, Settings, Wake, pause};
use crate::{
    Engine,
    error::StoreError,
    ledger::PostError,
    live::Topic,
    settlement::{self, Claim, Prices, Report, Setting, SettleError},
};

/// How often a batch that lost a deadlock or serialization race is tried as it is.
const RACES: u8 = 5;
/// Pause after the storage failed.
const STORAGE_PAUSE: Duration = Duration::from_secs(1);
/// Longest reason kept for people.
const MAX_REASON_CHARS: usize = 300;

/// One settling worker, responsible for one shard of the events.
pub struct Settler {
    engine: Engine,
    settings: Settings,
    shard: i16,
    prices: Arc<Prices>,
}

/// Why an attempt did not end in a known commit.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    /// Rolled back.
    #[error(transparent)]
    Settle(#[from] SettleError),
    /// The answer to COMMIT was lost.
    #[error("the outcome of the commit is unknown")]
    InDoubt(#[source] StoreError),
}

/// What to do about a failed attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Remedy {
    /// The same again: it lost a race.
    Again,
    /// The same again, compared with what is recorded.
    Compare,
    /// Split it, or set the single event aside.
    Isolate,
    /// Leave it: the storage is at fault.
    Storage,
}

/// A set of events to be settled together.
struct Part {
    events: Vec<EventId>,
    compare: bool,
    races: u8,
}

impl Settler {
    /// A worker for one shard.
    pub fn new(engine: Engine, settings: Settings, shard: i16) -> Self {
        Self {
            engine,
            settings,
            shard,
            prices: Arc::default(),
        }
    }

    /// Works until stopped.
    pub async fn run(self, wake: Wake, stop: CancellationToken) {
        let mut woken = wake.listen();
        while !stop.is_cancelled() {
            match self.work().await {
                Ok(0) => {
                    let idle = async {
                        tokio::select! {
                            _ = woken.changed() => {}
                            () = tokio::time::sleep(self.settings.poll) => {}
                        }
                    };
                    stop.run_until_cancelled(idle).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(
                        error = &error as &dyn std::error::Error,
                        shard = self.shard,
                        "settling failed"
                    );
                    metrics::counter!("quittance_settle_storage_failures_total").increment(1);
                    pause(&stop, STORAGE_PAUSE).await;
                }
            }
        }
    }

    /// Settles one batch, if anything is due, and returns how many events were due.
    ///
    /// # Errors
    /// When the storage failed; what was not committed is still due.
    pub async fn work(&self) -> Result<usize, StoreError> {
        let limit = if (self.settings.busy)() {
            self.settings.busy_batch
        } else {
            self.settings.batch
        };
        let claim = Claim::Shard {
            shard: self.shard,
            of: self.settings.shards,
            limit,
        };
        let mut events = Vec::new();
        match self.attempt(claim, false, &mut events).await {
            Ok(report) => self.measure(&report),
            Err(error) => {
                self.recover(
                    error,
                    Part {
                        events: events.clone(),
                        compare: false,
                        races: 0,
                    },
                )
                .await?
            }
        }
        Ok(events.len())
    }

    /// One transaction. `events` tells what was claimed, also when it failed.
    async fn attempt(
        &self,
        claim: Claim<'_>,
        compare: bool,
        events: &mut Vec<EventId>,
    ) -> Result<Report, AttemptError> {
        let started = Instant::now();
        let now = self.engine.clock().now();
        let mut tx = self.engine.pool().begin().await.map_err(storage)?;
        let due = settlement::claim(&mut tx, claim, now)
            .await
            .map_err(SettleError::from)?;
        events.extend(due.iter().map(|event| event.id));
        let Some(oldest) = due.first() else {
            return Ok(Report::default());
        };
        metrics::gauge!("quittance_settle_lag_seconds").set((now - oldest.due_at).as_seconds_f64());
        let setting = Setting {
            engine: &self.engine,
            prices: &self.prices,
            patience: self.settings.patience,
            compare,
        };
        let report = match settlement::settle(&mut tx, setting, &due, now).await {
            Ok(report) => report,
            Err(error) => {
                // Now, not whenever the pool gets to it: a retry would pass over events still locked.
                if let Err(rollback) = tx.rollback().await {
                    tracing::warn!(
                        error = &rollback as &dyn std::error::Error,
                        "rolling back failed"
                    );
                }
                return Err(error.into());
            }
        };
        self.reached(Point::BeforeCommit).await;
        tx.commit().await.map_err(|error| {
            let error = StoreError::from(error);
            if error.outcome_unknown() {
                AttemptError::InDoubt(error)
            } else {
                SettleError::from(error).into()
            }
        })?;
        self.reached(Point::AfterCommit).await;
        metrics::histogram!("quittance_settle_batch_seconds")
            .record(started.elapsed().as_secs_f64());
        Ok(report)
    }

    async fn reached(&self, point: Point) {
        if let Some(checkpoint) = &self.settings.checkpoint {
            checkpoint.reached(point).await;
        }
    }

    /// Sees to it that every event of a failed batch is settled, set aside, or still due.
    async fn recover(&self, error: AttemptError, part: Part) -> Result<(), StoreError> {
        let mut failed = vec![(error, part)];
        while let Some((error, mut part)) = failed.pop() {
            let error = match error {
                AttemptError::Settle(error) => error,
                AttemptError::InDoubt(error) => {
                    self.resolve(&part.events, &error).await?;
                    continue;
                }
            };
            match remedy(&error, &part) {
                Remedy::Storage => return Err(into_storage(error)),
                // It failed before an event was claimed: there is nothing to split.
                Remedy::Isolate if part.events.is_empty() => return Err(into_storage(error)),
                Remedy::Again => part.races += 1,
                Remedy::Compare => part.compare = true,
                Remedy::Isolate => {
                    if let [event] = part.events[..] {
                        self.set_aside(event, &error).await?;
                        continue;
                    }
                    let rest = part.events.split_off(part.events.len() / 2);
                    let rest = Part {
                        events: rest,
                        ..part
                    };
                    self.retry(rest, &mut failed).await;
                }
            }
            self.retry(part, &mut failed).await;
        }
        Ok(())
    }

    async fn retry(&self, part: Part, failed: &mut Vec<(AttemptError, Part)>) {
        let mut claimed = Vec::new();
        match self
            .attempt(Claim::Only(&part.events), part.compare, &mut claimed)
            .await
        {
            Ok(report) => self.measure(&report),
            Err(error) => failed.push((error, part)),
        }
    }

    /// Learns what became of a commit whose answer was lost. Whatever is still due comes up again.
    async fn resolve(&self, events: &[EventId], error: &StoreError) -> Result<(), StoreError> {
        let mut tx = self.engine.pool().begin().await?;
        let decided = settlement::decided_among(&mut tx, events).await?;
        tx.rollback().await?;
        tracing::warn!(
            error = error as &dyn std::error::Error,
            events = events.len(),
            decided,
            "the answer to a commit was lost; its events were looked up"
        );
        metrics::counter!("quittance_settle_commits_in_doubt_total").increment(1);
        Ok(())
    }

    async fn set_aside(&self, event: EventId, error: &SettleError) -> Result<(), StoreError> {
        let reason = explain(error);
        tracing::error!(%event, reason, "an event could not be settled and is set aside");
        metrics::counter!("quittance_settle_events_total", "state" => EventState::Failed.as_str())
            .increment(1);
        let mut tx = self.engine.pool().begin().await?;
        let now = self.engine.clock().now();
        settlement::set_aside(&mut tx, event, &reason, self.settings.patience, now).await?;
        tx.commit().await?;
        self.engine.news().count(Topic::Events, 1);
        Ok(())
    }

    fn measure(&self, report: &Report) {
        let events = report.events.values().sum::<u64>();
        if events == 0 {
            return;
        }
        let news = self.engine.news();
        news.count(Topic::Events, usize::try_from(events).unwrap_or(usize::MAX));
        news.count(Topic::Jobs, report.jobs);
        tracing::debug!(
            shard = self.shard,
            events,
            settlements = report.settlements,
            "settled a batch"
        );
        metrics::counter!("quittance_settle_batches_total").increment(1);
        metrics::counter!("quittance_settlements_total").increment(report.settlements);
        for (state, count) in &report.events {
            metrics::counter!("quittance_settle_events_total", "state" => state.as_str())
                .increment(*count);
        }
    }
}

fn storage(error: sqlx::Error) -> AttemptError {
    SettleError::from(StoreError::from(error)).into()
}

fn into_storage(error: SettleError) -> StoreError {
    match error {
        SettleError::Store(error)
        | SettleError::Post(PostError::Store(error) | PostError::Overdrawn(error)) => error,
        other => StoreError::inconsistent("events", "state", other),
    }
}

fn remedy(error: &SettleError, part: &Part) -> Remedy {
    // A settlement that is recorded already shows by its key, or by money that has moved before it is
    // asked to move: compare once before anyone is blamed.
    if matches!(error, SettleError::Post(_)) && error.storage().is_none() && !part.compare {
        return Remedy::Compare;
    }
    let Some(StoreError::Database(error)) = error.storage() else {
        return Remedy::Isolate;
    };
    let sqlx::Error::Database(database) = error else {
        // A row that cannot be decoded is a property of that row; anything else lost the database.
        let of_a_row = matches!(
            error,
            sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::Encode(_)
                | sqlx::Error::RowNotFound
        );
        return if of_a_row {
            Remedy::Isolate
        } else {
            Remedy::Storage
        };
    };
    by_code(&database.code().unwrap_or_default(), part.races)
}

/// What an SQLSTATE asks for after so many races.
fn by_code(code: &str, races: u8) -> Remedy {
    match code {
        // serialization_failure, deadlock_detected, lock_not_available
        "40001" | "40P01" | "55P03" if races < RACES => Remedy::Again,
        // query_canceled: a time limit was hit, which fewer events may keep.
        "57014" => Remedy::Isolate,
        // Connection, resources, operator intervention, system, read-only: no event is at fault.
        code if ["08", "25", "53", "57", "58"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            Remedy::Storage
        }
        _ => Remedy::Isolate,
    }
}

/// The error and its causes in one line, for people.
fn explain(error: &SettleError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        // The driver's errors repeat their cause.
        let words = error.to_string();
        if !text.ends_with(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        cause = error.source();
    }
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_REASON_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_database_says_whose_fault_it_is() {
        for (code, remedy) in [
            ("40P01", Remedy::Again),
            ("57014", Remedy::Isolate),
            ("57P01", Remedy::Storage),
            ("08006", Remedy::Storage),
            ("53300", Remedy::Storage),
            ("23514", Remedy::Isolate),
        ] {
            assert_eq!(by_code(code, 0), remedy, "{code}");
        }
        assert_eq!(by_code("40P01", RACES), Remedy::Isolate);
    }
}
