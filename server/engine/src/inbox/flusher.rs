//! A flusher: takes what waits, writes it in one commit, answers everyone in it.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{PgPool, Postgres, pool::PoolConnection};

use super::{
    AcceptError, Accepted, Delivery,
    pace::Pace,
    queue::{Pending, Queue},
    store,
    writer::{Flushed, OnFlush},
};
use crate::error::StoreError;

/// One of the tasks that write.
pub(super) struct Flusher {
    pub(super) number: usize,
    pub(super) pool: PgPool,
    /// Kept between flushes: taking it from the pool costs a round trip.
    pub(super) connection: Option<PoolConnection<Postgres>>,
    pub(super) queue: Arc<Queue>,
    pub(super) limit: Duration,
    pub(super) pace: Arc<Pace>,
    pub(super) on_flush: OnFlush,
}

impl fmt::Debug for Flusher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flusher {}", self.number)
    }
}

type Answers = Vec<Result<Accepted, AcceptError>>;

impl Flusher {
    pub(super) async fn run(mut self) {
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
        let mut parts: Vec<_> = std::iter::once(0..deliveries.len()).collect();
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
