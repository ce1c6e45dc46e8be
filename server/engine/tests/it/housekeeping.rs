//! Expiring credit, and what has a bound or an end.

use chrono::TimeDelta;
use engine::{
    books,
    worker::{expire::expire, maintain::maintain},
};
use sqlx::PgPool;

use crate::bench::{Bench, failed, succeeded, succeeded_by_reference};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn credit_past_its_date_becomes_breakage_also_when_it_returns_late(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let lot = bench
        .grant("10", Some(bench.now() + TimeDelta::days(1)))
        .await;
    bench.grant("5", None).await;
    let job = bench.submit(4).await;
    assert_eq!(expire(&bench.engine).await.unwrap(), 0);
    bench.engine.clock().advance(TimeDelta::days(2));
    assert_eq!(expire(&bench.engine).await.unwrap(), 1);
    assert_eq!(
        bench.balances().await,
        "available 5\nbreakage 6\nfunding -15\nheld 4\n"
    );
    bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    assert_eq!(bench.remaining(lot).await, "4");
    assert_eq!(expire(&bench.engine).await.unwrap(), 1);
    assert_eq!(expire(&bench.engine).await.unwrap(), 0);
    assert_eq!(
        bench.balances().await,
        "available 5\nbreakage 10\nfunding -15\n"
    );
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn maintenance_keeps_partitions_ahead_and_sweeps_what_is_over(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let now = bench.now();
    sqlx::query("INSERT INTO sessions (session_hash, data, expires_at) VALUES (sha256('old'), '{}', $1), (sha256('new'), '{}', $2)")
        .bind(now - TimeDelta::seconds(1))
        .bind(now + TimeDelta::hours(1))
        .execute(bench.engine.pool())
        .await
        .unwrap();
    sqlx::query("INSERT INTO sign_in_failures (subject, failed_at) VALUES ('email:a@b', $1), ('email:a@b', $2)")
        .bind(now - TimeDelta::days(2))
        .bind(now)
        .execute(bench.engine.pool())
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO deliveries (source_slug, outcome, reason, status, body_bytes, received_at)
         SELECT 'x', 'rejected', 'signature_missing', 401, 0, $1 FROM generate_series(1, 30)",
    )
    .bind(now)
    .execute(bench.engine.pool())
    .await
    .unwrap();
    maintain(&bench.engine, 10).await.unwrap();
    maintain(&bench.engine, 10).await.unwrap();
    let left: (i64, i64, i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM sign_in_failures), (SELECT count(*) FROM deliveries),
                (SELECT count(*) FROM pg_inherits WHERE inhparent = 'event_payloads'::regclass)",
    )
    .fetch_one(&bench.owner)
    .await
    .unwrap();
    // The default partition and three months.
    assert_eq!(left, (1, 1, 10, 4));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_step_of_maintenance_that_fails_stops_no_other(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let now = bench.now();
    // Something else covers that month already, under another name.
    sqlx::query("CREATE TABLE odd PARTITION OF event_payloads FOR VALUES FROM ('2026-11-01') TO ('2026-12-01')")
        .execute(&bench.owner)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO sessions (session_hash, data, expires_at) VALUES (sha256('old'), '{}', $1)",
    )
    .bind(now - TimeDelta::hours(1))
    .execute(&bench.owner)
    .await
    .unwrap();
    assert!(maintain(&bench.engine, 10).await.is_err());
    let sessions: i64 = sqlx::query_scalar("SELECT count(*) FROM sessions")
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(sessions, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_payload_that_came_before_its_partition_moves_into_it(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let job = bench.submit(4).await;
    // No partition was made yet: the payload lies in the default one.
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    let place = async || -> String {
        sqlx::query_scalar(
            "SELECT tableoid::regclass::text FROM event_payloads WHERE event_id = $1",
        )
        .bind(event.0)
        .fetch_one(&bench.owner)
        .await
        .unwrap()
    };
    assert_eq!(place().await, "event_payloads_default");
    maintain(&bench.engine, 10).await.unwrap();
    assert_eq!(place().await, "event_payloads_202611");
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_batch_ends_before_its_bodies_fill_the_memory(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let large = "x".repeat(9 << 20);
    for number in 0..3 {
        let job = bench.submit(1).await;
        let mut body = succeeded(&format!("e{number}"), job, 1, 1);
        body["data"]["logs"] = large.clone().into();
        bench.hear(&body).await;
    }
    let settler = bench.settler();
    let mut batches = Vec::new();
    loop {
        match settler.work().await.unwrap() {
            0 => break,
            settled => batches.push(settled),
        }
    }
    assert_eq!(batches, [2, 1]);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_names_no_job_is_looked_at_ever_more_rarely(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let event = bench
        .hear(&succeeded_by_reference("e1", "task-7", 2, 1))
        .await;
    let wait = async || -> f64 {
        sqlx::query_scalar(
            "SELECT extract(epoch FROM due_at - $2)::float8 FROM events WHERE event_id = $1",
        )
        .bind(event.0)
        .bind(bench.now())
        .fetch_one(&bench.owner)
        .await
        .unwrap()
    };
    bench.settle().await;
    assert_eq!(wait().await, 0.25);
    for _ in 0..20 {
        bench.settle_after(TimeDelta::minutes(16)).await;
    }
    assert_eq!(wait().await, 900.0);
}
