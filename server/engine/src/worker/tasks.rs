//! Carrying out tasks, one thing after the other.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::pause;
use crate::Engine;

/// Pause while there is nothing to do.
const EVERY: Duration = Duration::from_secs(1);

/// Works until stopped.
pub async fn run(engine: Engine, stop: CancellationToken) {
    loop {
        match engine.work_on_tasks().await {
            Ok(true) if !stop.is_cancelled() => continue,
            Ok(_) => {}
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "a task could not go on");
            }
        }
        if !pause(&stop, EVERY).await {
            return;
        }
    }
}
