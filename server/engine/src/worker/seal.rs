//! Sealing unasked. One process of several does it at a time: the others find the lock taken.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::pause;
use crate::{
    Engine,
    seal::{MOST, Round, Sealer},
};

/// Pause between rounds, as the server runs them.
pub const EVERY: Duration = Duration::from_secs(30);
/// Pause before looking again whether the transactions that a round waits for have ended.
const WAIT: Duration = Duration::from_secs(1);

/// Works until stopped, starting at once; while there is more, rounds follow each other.
pub async fn run(engine: Engine, every: Duration, stop: CancellationToken) {
    let mut sealer = Sealer::new(engine, MOST);
    loop {
        let wait = match sealer.round().await {
            Ok(Round::Sealed {
                number,
                added,
                more,
            }) => {
                tracing::debug!(number, added, "sealed");
                let added = u64::try_from(added).unwrap_or(0);
                metrics::counter!("quittance_leaves_sealed_total").increment(added);
                if more { Duration::ZERO } else { every }
            }
            Ok(Round::Nothing { waiting: true }) => WAIT.min(every),
            Ok(Round::Nothing { waiting: false } | Round::Busy) => every,
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "sealing failed");
                every
            }
        };
        if !pause(&stop, wait).await {
            return;
        }
    }
}
