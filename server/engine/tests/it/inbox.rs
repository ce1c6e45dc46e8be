//! The inbox: one event for a key, whoever delivers it, however often and however at once.

mod faults;

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use domain::{
    adapter::{Adapter, Incoming},
    canonical::Hash,
    event::{DeliveryOutcome, EventState},
    id::SourceId,
    signature::Scheme,
};
use engine::{
    Engine,
    inbox::{
        AcceptError, Accepted, Delivery, InboxWriter, WriterSettings, WriterTasks,
        views::EventFilter,
    },
    source::NewSource,
};
use sqlx::PgPool;

use crate::bench::Bench;

/// An inbox with one source.
struct Inbox {
    bench: Bench,
    writer: InboxWriter,
    tasks: WriterTasks,
    source: SourceId,
    woken: Arc<AtomicUsize>,
}

impl Inbox {
    async fn open(owner: PgPool) -> Self {
        Self::open_with(owner, WriterSettings::default()).await
    }

    async fn open_with(owner: PgPool, settings: WriterSettings) -> Self {
        let bench = Bench::new(owner).await;
        let mut new = NewSource::new("sender", Adapter::Generic, Scheme::StandardWebhooksV1);
        new.livemode = true;
        let source = bench.engine.add_source(&new, "test").await.unwrap();
        let woken = Arc::new(AtomicUsize::new(0));
        let count = woken.clone();
        let pool = bench.engine.pool().clone();
        let (writer, tasks) = InboxWriter::start(pool, settings, move |flushed| {
            count.fetch_add(flushed.events, Ordering::SeqCst);
        });
        Self {
            bench,
            writer,
            tasks,
            source,
            woken,
        }
    }

    fn engine(&self) -> &Engine {
        &self.bench.engine
    }

    fn delivery(&self, key: &str, images: u32) -> Delivery {
        let body = format!(
            r#"{{"type":"job.succeeded","occurred_at":"2026-11-30T11:00:00Z",
                "data":{{"provider_reference":"task-1","usage":{{"images":"{images}"}}}}}}"#
        );
        let incoming = Incoming {
            delivery_id: Some(key),
            job_parameter: None,
            body: &body,
        };
        Delivery {
            source: self.source,
            source_slug: "sender".into(),
            livemode: true,
            envelope: Adapter::Generic.envelope(&incoming).unwrap(),
            raw_hash: Hash::of_bytes(body.as_bytes()),
            body: Bytes::from(body),
            headers: r#"[["content-type","application/json"]]"#.into(),
            sender_id: Some(key.into()),
            remote_address: Some("192.0.2.7".into()),
            status: 200,
            received_at: self.bench.now(),
            asked: false,
        }
    }

    /// Accepts all of them at once.
    async fn accept_all(&self, deliveries: Vec<Delivery>) -> Vec<Result<Accepted, AcceptError>> {
        let accept = |delivery| {
            let writer = self.writer.clone();
            tokio::spawn(async move { writer.accept(delivery).await })
        };
        let mut answers = Vec::new();
        for task in deliveries.into_iter().map(accept).collect::<Vec<_>>() {
            answers.push(task.await.unwrap());
        }
        answers
    }

    async fn count(&self, table: &'static str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        sqlx::query_scalar(sql)
            .fetch_one(&self.bench.owner)
            .await
            .unwrap()
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_event_is_stored_once_with_its_payload(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let delivery = inbox.delivery("msg_1", 2);
    let answer = inbox.writer.accept(delivery.clone()).await.unwrap();
    let Accepted::New(id) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!(inbox.woken.load(Ordering::SeqCst), 1);

    let detail = inbox.engine().event(id).await.unwrap().unwrap();
    assert_eq!(detail.event.state, EventState::Received);
    assert_eq!(detail.event.due_at, Some(inbox.bench.now()));
    assert_eq!(detail.event.canonical_hash, delivery.envelope.hash);
    assert_eq!(detail.event.provider_reference.as_deref(), Some("task-1"));
    let payload = detail.payload.unwrap();
    assert_eq!(payload.body, delivery.body);
    assert_eq!(
        payload.headers,
        [("content-type".into(), "application/json".into())]
    );
    assert_eq!(detail.deliveries.len(), 1);
    assert_eq!(detail.deliveries[0].outcome, DeliveryOutcome::Accepted);

    let filter = EventFilter {
        state: Some(EventState::Received),
        source: Some(inbox.source),
        ..EventFilter::default()
    };
    assert_eq!(
        inbox
            .engine()
            .events(&filter, None, 10)
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(
        inbox
            .engine()
            .events(&filter, Some(id), 10)
            .await
            .unwrap()
            .is_empty()
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_hundred_deliveries_of_one_event_at_once_are_one_event(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let mut deliveries = vec![inbox.delivery("msg_1", 2); 100];
    deliveries.extend((2..60).map(|n| inbox.delivery(&format!("msg_{n}"), n)));
    let answers = inbox.accept_all(deliveries).await;
    let new = answers
        .iter()
        .filter(|answer| matches!(answer, Ok(Accepted::New(_))))
        .count();
    assert_eq!(
        (new, answers.iter().filter(|answer| answer.is_ok()).count()),
        (59, 158)
    );
    assert_eq!(inbox.count("events").await, 59);
    assert_eq!(inbox.count("event_payloads").await, 59);
    assert_eq!(inbox.count("deliveries").await, 158);
    assert_eq!(inbox.count("conflicts").await, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn other_content_under_one_key_is_a_conflict_and_both_are_kept(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let first = inbox
        .writer
        .accept(inbox.delivery("msg_1", 2))
        .await
        .unwrap();
    let other = inbox.delivery("msg_1", 3);
    assert_eq!(
        inbox.writer.accept(other.clone()).await,
        Ok(Accepted::Conflict(first.event()))
    );
    // The same other content again is on record; a third content is not.
    assert_eq!(
        inbox.writer.accept(other.clone()).await,
        Ok(Accepted::Conflict(first.event()))
    );
    assert_eq!(
        inbox.writer.accept(inbox.delivery("msg_1", 4)).await,
        Ok(Accepted::Conflict(first.event()))
    );
    assert_eq!(
        inbox.writer.accept(inbox.delivery("msg_1", 2)).await,
        Ok(Accepted::Duplicate(first.event()))
    );

    let detail = inbox.engine().event(first.event()).await.unwrap().unwrap();
    assert_eq!(
        detail.payload.unwrap().body,
        inbox.delivery("msg_1", 2).body
    );
    let bodies: Vec<_> = detail
        .conflicts
        .iter()
        .map(|conflict| conflict.body.clone())
        .collect();
    assert_eq!(
        bodies,
        [
            other.body.to_vec(),
            inbox.delivery("msg_1", 4).body.to_vec()
        ]
    );
    let outcomes: Vec<_> = detail
        .deliveries
        .iter()
        .map(|delivery| delivery.outcome.as_str())
        .collect();
    assert_eq!(
        outcomes,
        ["duplicate", "conflict", "conflict", "conflict", "accepted"]
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn contents_that_race_under_one_key_leave_one_event_and_the_others_as_conflicts(
    pool: PgPool,
) {
    let inbox = Inbox::open(pool).await;
    let deliveries = (0..40).map(|n| inbox.delivery("msg_1", n % 4)).collect();
    let answers = inbox.accept_all(deliveries).await;
    let count = |wanted: fn(&Accepted) -> bool| {
        answers
            .iter()
            .flatten()
            .filter(|answer| wanted(answer))
            .count()
    };
    assert_eq!(count(|answer| matches!(answer, Accepted::New(_))), 1);
    assert_eq!(count(|answer| matches!(answer, Accepted::Duplicate(_))), 9);
    assert_eq!(count(|answer| matches!(answer, Accepted::Conflict(_))), 30);
    assert_eq!(inbox.count("events").await, 1);
    assert_eq!(inbox.count("conflicts").await, 3);
    assert_eq!(inbox.count("deliveries").await, 40);
}

/// What a later delivery of the same event is worth must not depend on a cache or on this process.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_repeat_is_known_after_a_restart(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let first = inbox
        .writer
        .accept(inbox.delivery("msg_1", 2))
        .await
        .unwrap();
    let (again, _tasks) = InboxWriter::start(
        inbox.engine().pool().clone(),
        WriterSettings::default(),
        |_| (),
    );
    assert_eq!(
        again.accept(inbox.delivery("msg_1", 2)).await,
        Ok(Accepted::Duplicate(first.event()))
    );
}
