//! Reconciling unasked. One process of several does it: the others find the lock taken.

use std::time::Duration;

use domain::exception::Cause;
use tokio_util::sync::CancellationToken;

use super::pause;
use crate::{Engine, reconcile::ReconcileError};

/// Works until stopped, with a pause before each run: a start is busy enough.
pub async fn run(engine: Engine, every: Duration, stop: CancellationToken) {
    while pause(&stop, every).await {
        match engine.reconcile(Cause::Scheduled, None, None).await {
            Ok(tally) if tally.found == 0 => {
                tracing::info!(run = tally.run, reach = %tally.reach, "the books are in order")
            }
            Ok(tally) => tracing::error!(
                run = tally.run,
                found = tally.found,
                opened = tally.opened,
                "the books are not in order: see the exceptions in the console"
            ),
            Err(ReconcileError::Busy) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "reconciliation failed"
                );
            }
        }
    }
}
