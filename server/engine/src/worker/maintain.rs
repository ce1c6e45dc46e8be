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

/// One run. Each step stands for itself, so that one that fails does not undo the others.
///
/// # Errors
/// The first [`StoreError`].
pub async fn maintain(engine: &Engine, rejected_deliveries: i32) -> Result<(), StoreError> {
    let now = engine.clock().now();
    let mut conn = engine.pool().acquire().await?;
    for ahead in 0..MONTHS_AHEAD {
        let month = now.date_naive() + Months::new(ahead);
        store::ensure_payload_partition(&mut conn, month).await?;
    }
    let pruned = store::prune_rejected_deliveries(&mut conn, rejected_deliveries).await?;
    let sessions = store::sweep_sessions(&mut conn, now).await?;
    let failures = store::sweep_sign_in_failures(&mut conn, now).await?;
    let actions = action::expire(&mut conn, now).await?;
    if actions > 0 {
        tracing::info!(actions, "actions expired that nobody decided on");
    }
    if pruned + sessions + failures > 0 {
        tracing::info!(
            pruned,
            sessions,
            failures,
            "swept rejected deliveries, sessions and failed sign-ins"
        );
    }
    Ok(())
}
