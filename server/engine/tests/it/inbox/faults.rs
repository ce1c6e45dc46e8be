//! What the inbox does when the database, the queue or a row is at fault.

use std::time::Duration;

use engine::inbox::{AcceptError, Accepted, Rejected, WriterSettings};
use sqlx::{Executor as _, PgPool};

use super::Inbox;

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
