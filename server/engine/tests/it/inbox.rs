//! The inbox: one event for a key, whoever delivers it, however often and however at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
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
        AcceptError, Accepted, Delivery, InboxWriter, Rejected, WriterSettings, WriterTasks,
        views::EventFilter,
    },
    source::NewSource,
};
use sqlx::{Executor as _, PgPool};

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

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_delivery_the_database_refuses_fails_alone(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let mut deliveries: Vec<_> = (0..64)
        .map(|n| inbox.delivery(&format!("msg_{n}"), n))
        .collect();
    // No adapter lets this through; the column cannot hold it.
    deliveries[23].envelope.kind = "nul\0".into();
    deliveries[41].headers = "not json".into();
    let answers = inbox.accept_all(deliveries).await;
    let refused: Vec<_> = (0..64)
        .filter(|n| answers[*n] == Err(AcceptError::Storage))
        .collect();
    assert_eq!(refused, [23, 41]);
    assert_eq!(inbox.count("events").await, 62);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_database_that_is_gone_is_answered_as_not_stored(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    inbox.engine().pool().close().await;
    assert_eq!(
        inbox.writer.accept(inbox.delivery("msg_1", 2)).await,
        Err(AcceptError::Storage)
    );
    assert_eq!(inbox.count("events").await, 0);
}

/// The connection is cut while the flush waits for a lock, so the outcome is unknown to the client; the
/// second attempt settles it.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_connection_cut_during_a_flush_loses_nothing(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let mut blocker = inbox.bench.owner.begin().await.unwrap();
    blocker
        .execute("LOCK TABLE deliveries IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let (writer, delivery) = (inbox.writer.clone(), inbox.delivery("msg_1", 2));
    let accepting = tokio::spawn(async move { writer.accept(delivery).await });
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'WITH input%'";
    loop {
        let cut: Vec<bool> = sqlx::query_scalar(cut)
            .fetch_all(&inbox.bench.owner)
            .await
            .unwrap();
        if cut.contains(&true) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    blocker.commit().await.unwrap();
    assert!(matches!(accepting.await.unwrap(), Ok(Accepted::New(_))));
    assert_eq!(inbox.count("events").await, 1);
    assert_eq!(inbox.count("deliveries").await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_hung_database_fills_the_queue_and_is_answered_in_time(pool: PgPool) {
    let settings = WriterSettings {
        queue: 3,
        rows_per_flush: 1,
        flush_limit: Duration::from_millis(500),
        ..WriterSettings::default()
    };
    let inbox = Inbox::open_with(pool, settings).await;
    let mut blocker = inbox.bench.owner.begin().await.unwrap();
    blocker
        .execute("LOCK TABLE events IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let deliveries = (0..20)
        .map(|n| inbox.delivery(&format!("msg_{n}"), n))
        .collect();
    let answers = inbox.accept_all(deliveries).await;
    let busy = answers
        .iter()
        .filter(|answer| **answer == Err(AcceptError::Busy))
        .count();
    assert!(busy >= 20 - 3 - 8, "{busy} of 20 shed");
    assert!(answers.iter().all(Result::is_err));
    blocker.rollback().await.unwrap();
    assert!(
        inbox
            .writer
            .accept(inbox.delivery("msg_late", 2))
            .await
            .is_ok()
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_waits_at_shutdown_is_stored_and_nothing_more_is_taken(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let deliveries: Vec<_> = (0..300)
        .map(|n| inbox.delivery(&format!("msg_{n}"), n))
        .collect();
    let waiting: Vec<_> = deliveries
        .into_iter()
        .map(|delivery| {
            let writer = inbox.writer.clone();
            tokio::spawn(async move { writer.accept(delivery).await })
        })
        .collect();
    while inbox.count("events").await == 0 {
        tokio::task::yield_now().await;
    }
    inbox.tasks.drain().await;
    let mut stored = 0;
    for answer in waiting {
        match answer.await.unwrap() {
            Ok(_) => stored += 1,
            Err(error) => assert_eq!(error, AcceptError::Closed),
        }
    }
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM events")
        .fetch_one(&inbox.bench.owner)
        .await
        .unwrap();
    assert_eq!(count, stored);
    assert!(stored > 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn rejected_deliveries_are_recorded_bounded_and_pruned(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let rejected = |n: usize| Rejected {
        source_slug: "sender".into(),
        source: Some(inbox.source),
        reason: "signature_mismatch",
        status: 401,
        sender_id: None,
        body_bytes: n,
        remote_address: None,
        received_at: inbox.bench.now(),
    };
    // Far more than the recorder holds: it must neither wait nor fail.
    (0..5_000).for_each(|n| inbox.writer.reject(rejected(n)));
    let mut rows = Vec::new();
    while rows.is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
        rows = inbox.engine().rejected_deliveries(None, 10).await.unwrap();
    }
    assert_eq!(
        (rows[0].reason.as_deref(), rows[0].status),
        (Some("signature_mismatch"), 401)
    );
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert!(inbox.count("deliveries").await <= 513, "lossy");
    let kept: i64 = sqlx::query_scalar("SELECT prune_rejected_deliveries(5)")
        .fetch_one(inbox.engine().pool())
        .await
        .unwrap();
    assert!(kept > 0);
    assert_eq!(
        inbox
            .engine()
            .rejected_deliveries(None, 10)
            .await
            .unwrap()
            .len(),
        5
    );
}

/// A conflict, like a settlement, can only name an event of its own mode.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn nothing_of_the_other_mode_can_refer_to_an_event(pool: PgPool) {
    let inbox = Inbox::open(pool).await;
    let event = inbox
        .writer
        .accept(inbox.delivery("msg_1", 2))
        .await
        .unwrap()
        .event();
    let refused = sqlx::query(
        "INSERT INTO conflicts (event_id, livemode, canonical_hash, raw_hash, body, received_at)
         VALUES ($1, false, sha256('a'), sha256('a'), 'a', now())",
    )
    .bind(event.0)
    .execute(inbox.engine().pool())
    .await
    .unwrap_err();
    let constraint = refused
        .as_database_error()
        .and_then(|error| error.constraint().map(str::to_owned));
    assert_eq!(constraint.as_deref(), Some("conflicts_event"));
}
