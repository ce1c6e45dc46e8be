//! The writer: the one thing the accept path can call.
//!
//! Flushers share one queue. Each takes what queued up since the last take, writes it in one commit and
//! answers. There is no timer: under light load a delivery is written alone and at once, under heavy
//! load batches form by themselves. How many flush at a time follows the cost of a commit: two keep a
//! fast disk busy, a slow one needs more of them in flight.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use sqlx::{PgPool, Postgres, pool::PoolConnection};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use super::{
    AcceptError, Accepted, Delivery, Rejected,
    queue::{Bounds, Pending, Queue},
    rejected, store,
};
use crate::error::StoreError;

/// Fewest flushers at work.
const MIN_FLUSHERS: usize = 2;
/// Most flushers at work.
const MAX_FLUSHERS: usize = 8;
/// What a row adds to a flush, taken off its duration to see the cost of the commit.
const ROW_COST_US: u64 = 20;

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

type OnFlush = Arc<dyn Fn(Flushed) + Send + Sync>;

impl InboxWriter {
    /// Starts the flushers over a pool whose connections act as the application's role. Each flusher at
    /// work keeps one of them, so the pool should have room for eight beside its other users.
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
        let awake = watch::Sender::new(MIN_FLUSHERS);
        let pace = Arc::new(Pace {
            commit_us: AtomicU64::new(0),
            awake: awake.clone(),
        });
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

/// How many flushers are at work, and the commit cost that decides it.
struct Pace {
    /// Moving average.
    commit_us: AtomicU64,
    awake: watch::Sender<usize>,
}

impl Pace {
    fn learn(&self, took: Duration, rows: usize) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let commit_us = took_us.saturating_sub(rows as u64 * ROW_COST_US);
        let before = self.commit_us.load(Ordering::Relaxed);
        let average = before - before / 16 + commit_us / 16;
        self.commit_us.store(average, Ordering::Relaxed);
        let wanted = flushers_for(average);
        self.awake
            .send_if_modified(|awake| std::mem::replace(awake, wanted) != wanted);
        metrics::histogram!("inbox_flush_seconds").record(took.as_secs_f64());
        metrics::histogram!("inbox_flush_rows").record(u32::try_from(rows).unwrap_or(u32::MAX));
        metrics::gauge!("inbox_flushers").set(u32::try_from(wanted).unwrap_or(u32::MAX));
    }
}

/// Two up to 600 µs, then one more for each 200 µs, up to eight.
fn flushers_for(commit_us: u64) -> usize {
    let more = usize::try_from(commit_us.saturating_sub(400) / 200).unwrap_or(MAX_FLUSHERS);
    (MIN_FLUSHERS + more).min(MAX_FLUSHERS)
}

struct Flusher {
    number: usize,
    pool: PgPool,
    /// Kept between flushes: taking it from the pool costs a round trip.
    connection: Option<PoolConnection<Postgres>>,
    queue: Arc<Queue>,
    limit: Duration,
    pace: Arc<Pace>,
    on_flush: OnFlush,
}

impl fmt::Debug for Flusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flusher {}", self.number)
    }
}

type Answers = Vec<Result<Accepted, AcceptError>>;

impl Flusher {
    async fn run(mut self) {
        let mut awake = self.pace.awake.subscribe();
        loop {
            let at_work = *awake.borrow_and_update();
            if self.number >= at_work {
                self.connection = None;
                if self.queue.is_closed() || awake.changed().await.is_err() {
                    return;
                }
                continue;
            }
            let Some(batch) = self.queue.take().await else {
                return;
            };
            self.flush(batch).await;
        }
    }

    /// Writes a batch and answers everyone in it.
    async fn flush(&mut self, mut batch: Vec<Pending>) {
        batch.sort_by(|a, b| a.delivery.key().cmp(&b.delivery.key()));
        let begun = Instant::now();
        let deliveries: Vec<_> = batch.iter().map(|pending| &pending.delivery).collect();
        let answers = self.write(&deliveries).await;
        let bytes = deliveries.iter().map(|delivery| delivery.body.len()).sum();
        self.pace.learn(begun.elapsed(), batch.len());
        self.queue.release(bytes);
        let stored = answers.iter().flatten();
        let flushed = Flushed {
            events: stored
                .clone()
                .filter(|one| matches!(one, Accepted::New(_)))
                .count(),
            deliveries: stored.count(),
        };
        if flushed.deliveries > 0 {
            (self.on_flush)(flushed);
        }
        for (pending, answer) in batch.into_iter().zip(answers) {
            note(&pending.delivery, answer);
            if pending.answer.send(answer).is_err() {
                // Whoever waited hung up; the sender will deliver again and be told "duplicate".
                metrics::counter!("inbox_answers_unheard_total").increment(1);
            }
        }
    }

    /// Writes deliveries that are sorted by key. A batch the database refuses is halved until what it
    /// refuses stands alone.
    async fn write(&mut self, deliveries: &[&Delivery]) -> Answers {
        let mut answers = vec![Err(AcceptError::Storage); deliveries.len()];
        let mut parts = vec![0..deliveries.len()];
        while let Some(part) = parts.pop() {
            match self.write_once_more(&deliveries[part.clone()]).await {
                Ok(accepted) => {
                    for (answer, accepted) in answers[part].iter_mut().zip(accepted) {
                        *answer = Ok(accepted);
                    }
                }
                Err(error) if part.len() > 1 && is_refusal(&error) => {
                    let middle = part.start + part.len() / 2;
                    parts.push(middle..part.end);
                    parts.push(part.start..middle);
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(%error, cause, deliveries = part.len(), "deliveries could not be stored");
                }
            }
        }
        answers
    }

    /// Writes, and writes again if the connection was lost: what the first attempt stored is found by
    /// the second, so the outcome is known either way.
    async fn write_once_more(
        &mut self,
        deliveries: &[&Delivery],
    ) -> Result<Vec<Accepted>, StoreError> {
        match self.write_in_time(deliveries).await {
            Err(error) if error.outcome_unknown() => {
                tracing::warn!(%error, "the database was lost during a flush; trying once more");
                self.write_in_time(deliveries).await
            }
            result => result,
        }
    }

    async fn write_in_time(
        &mut self,
        deliveries: &[&Delivery],
    ) -> Result<Vec<Accepted>, StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.pool.acquire().await?,
        };
        match tokio::time::timeout(self.limit, store_batch(&mut connection, deliveries)).await {
            Ok(result) => {
                // After an error the state of the connection is doubtful; the pool decides.
                self.connection = result.is_ok().then_some(connection);
                result
            }
            Err(_) => {
                // A statement is still under way on it: closed, not given back.
                drop(connection.detach());
                Err(StoreError::Database(sqlx::Error::PoolTimedOut))
            }
        }
    }
}

/// Whether the database is there and refuses the rows, as opposed to being lost or unreachable.
fn is_refusal(error: &StoreError) -> bool {
    matches!(error, StoreError::Database(sqlx::Error::Database(_))) && !error.outcome_unknown()
}

/// Counts an outcome, and announces what people should see.
fn note(delivery: &Delivery, answer: Result<Accepted, AcceptError>) {
    let outcome = match answer {
        Ok(Accepted::New(_)) => "accepted",
        Ok(Accepted::Duplicate(_)) => "duplicate",
        Ok(Accepted::Conflict(event)) => {
            tracing::warn!(
                %event,
                source = delivery.source_slug,
                key = delivery.envelope.event_key,
                "the sender used one event id for two contents; both are kept"
            );
            "conflict"
        }
        Err(_) => "not_stored",
    };
    metrics::counter!("inbox_deliveries_total", "outcome" => outcome).increment(1);
}

/// Stores deliveries that are sorted by key, and says what each was.
///
/// The first of several with one key stands for the event; the others are repeats of it, like those that
/// lost the race against another flusher or came days later.
async fn store_batch(
    connection: &mut PoolConnection<Postgres>,
    deliveries: &[&Delivery],
) -> Result<Vec<Accepted>, StoreError> {
    let is_first =
        |index: &usize| *index == 0 || deliveries[*index].key() != deliveries[*index - 1].key();
    let firsts: Vec<_> = (0..deliveries.len()).filter(is_first).collect();
    let candidates: Vec<_> = firsts.iter().map(|index| deliveries[*index]).collect();
    let mut accepted = vec![None; deliveries.len()];
    for (candidate, event) in store::insert_new(connection, &candidates).await? {
        if let Some(index) = firsts.get(candidate) {
            accepted[*index] = Some(Accepted::New(event));
        }
    }
    let repeated: Vec<_> = (0..deliveries.len())
        .filter(|index| accepted[*index].is_none())
        .collect();
    if !repeated.is_empty() {
        let told: Vec<_> = repeated.iter().map(|index| deliveries[*index]).collect();
        let known = store::find_known(connection, &told).await?;
        let repeats: Vec<_> = known
            .iter()
            .map(|(told_index, known)| (told[*told_index], *known))
            .collect();
        store::insert_repeats(connection, &repeats).await?;
        for (told_index, known) in known {
            let same = if known.same {
                Accepted::Duplicate
            } else {
                Accepted::Conflict
            };
            accepted[repeated[told_index]] = Some(same(known.event));
        }
    }
    let missing = || {
        StoreError::inconsistent(
            "events",
            "event_key",
            "an event that was refused as known is not there",
        )
    };
    accepted
        .into_iter()
        .map(|one| one.ok_or_else(missing))
        .collect()
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
        }
    }

    #[test]
    fn slow_commits_get_more_flushers() {
        let flushers: Vec<_> = [0, 85, 300, 599, 600, 1000, 1600, 5000]
            .map(flushers_for)
            .into();
        assert_eq!(flushers, [2, 2, 2, 2, 3, 5, 8, 8]);
    }
}
