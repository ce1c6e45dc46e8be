//! Housekeeping: payload partitions ahead of time, and sweeping what has a bound or an end.

use std::time::Duration;

use chrono::Months;
use tokio_util::sync::CancellationToken;

use super::pause;
use crate::{Engine, action, error::StoreError};

mod store;

/// Pause between runs.
const EVERY: Duration = Duration::from_secs(600);
/// Months whose payload partitions exist in advance, this one included.
const MONTHS_AHEAD: u32 = 3;

/// Works until stopped, starting at once.
pub async fn run(engine: Engine, rejected_deliveries: i32, stop: CancellationToken) {
    loop {
        if let Err(error) = maintain(&engine, rejected_deliveries).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "maintenance failed"
            );
        }
        if !pause(&stop, EVERY).await {
            return;
        }
    }
}

/// One run. Each step stands for itself: one that fails stops no other.
///
/// # Errors
/// The first [`StoreError`].
pub async fn maintain(engine: &Engine, rejected_deliveries: i32) -> Result<(), StoreError> {
    let now = engine.clock().now();
    let mut conn = engine.pool().acquire().await?;
    let mut run = Run::default();
    for ahead in 0..MONTHS_AHEAD {
        let month = now.date_naive() + Months::new(ahead);
        let made = store::ensure_payload_partition(&mut conn, month).await;
        run.swept("payload partitions", made.map(|()| 0));
    }
    let pruned = store::prune_rejected_deliveries(&mut conn, rejected_deliveries).await;
    run.swept("rejected deliveries", pruned);
    let sessions = store::sweep_sessions(&mut conn, now).await;
    run.swept("sessions", sessions);
    let failures = store::sweep_sign_in_failures(&mut conn, now).await;
    run.swept("failed sign-ins", failures);
    let actions = action::expire(&mut conn, now).await;
    run.swept("actions that nobody decided on", actions);
    run.first_failure.map_or(Ok(()), Err)
}

/// What a run has come to so far.
#[derive(Default)]
struct Run {
    first_failure: Option<StoreError>,
}

impl Run {
    fn swept(&mut self, what: &'static str, result: Result<u64, StoreError>) {
        match result {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, what, "swept"),
            Err(error) if self.first_failure.is_none() => self.first_failure = Some(error),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                what,
                "maintenance failed"
            ),
        }
    }
}
