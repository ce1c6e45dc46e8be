//! The writer: the one thing the accept path can call.
//!
//! Flushers share one queue. Each takes what queued up since the last take, writes it in one commit and
//! answers. There is no timer: under light load a delivery is written alone and at once, under heavy
//! load batches form by themselves. How many flush at a time follows the cost of a commit: two keep a
//! fast disk busy, a slow one needs more of them in flight.

use std::{sync::Arc, time::Duration};

use sqlx::PgPool;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    AcceptError, Accepted, Delivery, Rejected,
    flusher::Flusher,
    pace::{MAX_FLUSHERS, MIN_FLUSHERS, Pace, most_flushers},
    queue::{Bounds, Pending, Queue},
    rejected,
};

/// Bounds of the writer.
#[derive(Clone, Copy, Debug)]
pub struct WriterSettings {
    /// Most deliveries that wait.
    pub queue: usize,
    /// Most bytes of bodies that are held at once; one body alone is never too many.
    pub queue_bytes: usize,
    /// Most deliveries in one commit.
    pub rows_per_flush: usize,
    /// How long a flush may take before its deliveries are answered as not stored.
    pub flush_limit: Duration,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            queue: 4096,
            queue_bytes: 64 << 20,
            rows_per_flush: 256,
            flush_limit: Duration::from_secs(10),
        }
    }
}

/// Stores deliveries. Clones share one queue.
#[derive(Clone, Debug)]
pub struct InboxWriter {
    queue: Arc<Queue>,
    rejected: mpsc::Sender<Rejected>,
}

impl InboxWriter {
    /// Stores a delivery and returns after its commit.
    ///
    /// # Errors
    /// [`AcceptError`]; a retry is safe.
    pub async fn accept(&self, delivery: Delivery) -> Result<Accepted, AcceptError> {
        let (answer, stored) = oneshot::channel();
        self.queue.push(Pending { delivery, answer })?;
        // A flusher that is gone without an answer was killed: what it did is unknown.
        stored.await.unwrap_or(Err(AcceptError::Storage))
    }

    /// Notes a refused delivery for people to see. Never waits: what does not fit is counted and dropped.
    pub fn reject(&self, rejected: Rejected) {
        if self.rejected.try_send(rejected).is_err() {
            metrics::counter!("inbox_rejected_unrecorded_total").increment(1);
        }
    }

    /// Deliveries that wait. Workers leave more of the machine to the receiver while there are any.
    pub fn depth(&self) -> usize {
        self.queue.len()
    }
}

/// The writer's tasks.
#[derive(Debug)]
pub struct WriterTasks {
    queue: Arc<Queue>,
    awake: watch::Sender<usize>,
    tasks: JoinSet<()>,
}

impl WriterTasks {
    /// Takes nothing more in, stores and answers what waits, and ends. The recorder of rejected
    /// deliveries ends when the last [`InboxWriter`] is dropped, so it is not waited for.
    pub async fn drain(mut self) {
        self.queue.close();
        self.awake.send_replace(MAX_FLUSHERS);
        self.queue.wake();
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a flusher ended before its time");
            }
        }
    }
}

/// What one commit stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flushed {
    /// New events.
    pub events: usize,
    /// Deliveries, those of new events included.
    pub deliveries: usize,
}

pub(super) type OnFlush = Arc<dyn Fn(Flushed) + Send + Sync>;

impl InboxWriter {
    /// Starts the flushers over a pool whose connections act as the application's role. Each flusher at
    /// work keeps one of them, eight and half of the pool at most.
    /// `on_flush` is called after each flush that stored something.
    pub fn start(
        pool: PgPool,
        settings: WriterSettings,
        on_flush: impl Fn(Flushed) + Send + Sync + 'static,
    ) -> (Self, WriterTasks) {
        let queue = Arc::new(Queue::new(Bounds {
            deliveries: settings.queue,
            bytes: settings.queue_bytes,
            per_take: settings.rows_per_flush,
        }));
        let (rejected, to_record) = mpsc::channel(rejected::QUEUE);
        tokio::spawn(rejected::record(pool.clone(), to_record));
        let most = most_flushers(pool.options().get_max_connections());
        let awake = watch::Sender::new(MIN_FLUSHERS.min(most));
        let pace = Arc::new(Pace::new(awake.clone(), most));
        let on_flush: OnFlush = Arc::new(on_flush);
        let mut tasks = JoinSet::new();
        for number in 0..MAX_FLUSHERS {
            let flusher = Flusher {
                number,
                pool: pool.clone(),
                connection: None,
                queue: queue.clone(),
                limit: settings.flush_limit,
                pace: pace.clone(),
                on_flush: on_flush.clone(),
            };
            tasks.spawn(flusher.run());
        }
        let tasks = WriterTasks {
            queue: queue.clone(),
            awake,
            tasks,
        };
        (Self { queue, rejected }, tasks)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bytes::Bytes;
    use chrono::DateTime;
    use domain::{adapter::Envelope, canonical::Hash, id::SourceId};

    /// A delivery of a source that does not exist.
    pub(in crate::inbox) fn delivery(key: &str, body: &'static str) -> Delivery {
        Delivery {
            source: SourceId(uuid::Uuid::nil()),
            source_slug: "acme".into(),
            livemode: true,
            envelope: Envelope {
                event_key: key.into(),
                kind: "job.started".into(),
                hash: Hash::of_bytes(body.as_bytes()),
                provider_reference: None,
                job_hint: None,
                occurred_at: None,
            },
            raw_hash: Hash::of_bytes(body.as_bytes()),
            body: Bytes::from_static(body.as_bytes()),
            headers: "[]".into(),
            sender_id: None,
            remote_address: None,
            status: 200,
            received_at: DateTime::UNIX_EPOCH,
            asked: false,
        }
    }
}
