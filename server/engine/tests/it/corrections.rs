//! Corrections of usage: they change what a completion charged, and never charge on their own.

use chrono::TimeDelta;
use sqlx::PgPool;

use crate::bench::{Bench, corrected, failed, started, succeeded};

async fn with_job(pool: PgPool) -> (Bench, domain::id::JobId) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let job = bench.submit(4).await;
    (bench, job)
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_correction_of_a_job_that_failed_ends_with_a_person(pool: PgPool) {
    let (bench, job) = with_job(pool).await;
    bench.hear(&failed("e1", job, 1)).await;
    let event = bench.hear(&corrected("e2", job, 3, 2, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: completion_unknown");
    bench.settle_after(TimeDelta::hours(25)).await;
    assert_eq!(bench.outcome(event).await, "rejected: nothing_to_correct");
    assert_eq!(
        bench.job(job).await,
        "failed released held 0 captured 0 owed 0"
    );
    assert_eq!(bench.balances().await, "available 10\nfunding -10\n");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_correction_waits_as_long_as_its_job_is_in_flight(pool: PgPool) {
    let (bench, job) = with_job(pool).await;
    bench.hear(&started("e1", job, 1)).await;
    let event = bench.hear(&corrected("e2", job, 3, 2, 2)).await;
    bench.settle().await;
    bench.settle_after(TimeDelta::hours(25)).await;
    assert_eq!(bench.outcome(event).await, "waiting: completion_unknown");
    bench.hear(&succeeded("e3", job, 2, 1)).await;
    bench.settle().await;
    bench.settle_after(TimeDelta::minutes(2)).await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.settlements(job).await,
        ["reserve/1 4", "capture/1 2", "adjustment/1 1"]
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_correction_after_a_cancel_request_returns_what_was_charged_too_much(pool: PgPool) {
    let (bench, job) = with_job(pool).await;
    sqlx::query("UPDATE tenants SET late_cancel = 'release'")
        .execute(&bench.owner)
        .await
        .unwrap();
    bench.hear(&started("e1", job, 1)).await;
    bench.settle().await;
    bench.engine.clock().advance(TimeDelta::minutes(3));
    let of = (bench.tenant, true);
    bench.engine.cancel_job(of, job).await.unwrap();
    bench.hear(&succeeded("e2", job, 4, 2)).await;
    bench.settle().await;
    let event = bench.hear(&corrected("e3", job, 1, 2, 5)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed adjusted held 0 captured 1 owed 0"
    );
    assert_eq!(
        bench.balances().await,
        "available 9\nfunding -10\nrevenue 1\n"
    );
}
