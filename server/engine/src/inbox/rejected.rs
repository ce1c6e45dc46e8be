//! Rejected deliveries: a bounded, lossy record for people. Anyone can cause one, so recording must cost
//! the accept path nothing and the database little: what does not fit is counted and dropped.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::id::SourceId;
use sqlx::PgPool;
use tokio::sync::mpsc;

use super::{REJECTED_KEPT, store};
use crate::error::StoreError;

/// Most that wait to be recorded.
pub(super) const QUEUE: usize = 512;
/// Most in one statement.
const BATCH: usize = 128;
/// Pause between statements; with [`BATCH`] it bounds the rate at about 500 a second.
const PAUSE: Duration = Duration::from_millis(250);
/// Rows after which old ones are dropped.
const PRUNE_EVERY: usize = 1000;

/// A delivery that was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejected {
    /// Source named in the URL.
    pub source_slug: String,
    /// The source, when known.
    pub source: Option<SourceId>,
    /// Why, as a stable code.
    pub reason: &'static str,
    /// Status that was answered.
    pub status: u16,
    /// The sender's id of the delivery, as far as it can be believed.
    pub sender_id: Option<String>,
    /// Size of the body, as far as it was read.
    pub body_bytes: usize,
    /// Peer address.
    pub remote_address: Option<String>,
    /// When it arrived.
    pub received_at: DateTime<Utc>,
}

/// Records until every sender is gone.
pub(super) async fn record(pool: PgPool, mut queue: mpsc::Receiver<Rejected>) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut since_prune = 0;
    while queue.recv_many(&mut batch, BATCH).await > 0 {
        since_prune += batch.len();
        if let Err(error) = write(&pool, &batch, since_prune >= PRUNE_EVERY).await {
            metrics::counter!("inbox_rejected_unrecorded_total").increment(batch.len() as u64);
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            tracing::warn!(%error, cause, "rejected deliveries could not be recorded");
        }
        if since_prune >= PRUNE_EVERY {
            since_prune = 0;
        }
        batch.clear();
        if !queue.is_closed() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

async fn write(pool: &PgPool, batch: &[Rejected], prune: bool) -> Result<(), StoreError> {
    let mut connection = pool.acquire().await?;
    store::insert_rejected(&mut connection, batch).await?;
    if prune {
        store::prune_rejected(&mut connection, REJECTED_KEPT).await?;
    }
    Ok(())
}
