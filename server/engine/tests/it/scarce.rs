//! Corrections when the wallet cannot pay: nothing is lost, nothing is taken that is not there.

use chrono::TimeDelta;
use engine::{books, wallet};
use sqlx::PgPool;

use crate::bench::{Bench, corrected, succeeded};

/// A job that was captured at 2 of a quote of 10, on a wallet with `left` to spend.
async fn captured(pool: PgPool, overage: &str, left: u32) -> (Bench, domain::id::JobId) {
    let bench = Bench::new(pool).await;
    sqlx::query("UPDATE tenants SET overage = $1")
        .bind(overage)
        .execute(&bench.owner)
        .await
        .unwrap();
    bench.grant("10", None).await;
    let job = bench.submit(10).await;
    bench.hear(&succeeded("e1", job, 2, 1)).await;
    bench.settle().await;
    if left < 8 {
        bench.submit(8 - left).await;
    }
    (bench, job)
}

async fn in_order(bench: &Bench) {
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_a_correction_cannot_take_is_owed_where_policy_says_so(pool: PgPool) {
    let (bench, job) = captured(pool, "receivable", 3).await;
    let event = bench.hear(&corrected("e2", job, 9, 2, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed adjusted held 0 captured 9 owed 4"
    );
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn where_nothing_is_owed_it_waits_and_goes_through_once_there_are_funds(pool: PgPool) {
    let (bench, job) = captured(pool, "cap", 3).await;
    let event = bench.hear(&corrected("e2", job, 9, 2, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: insufficient_funds");
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 2 owed 0"
    );
    bench.grant("5", None).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed adjusted held 0 captured 9 owed 0"
    );
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_wallet_is_not_charged_by_a_correction(pool: PgPool) {
    let (bench, job) = captured(pool, "cap", 8).await;
    let of = (bench.tenant, bench.wallet);
    let mut tx = bench.engine.pool().begin().await.unwrap();
    wallet::freeze(&mut tx, &bench.engine, of, "suspicion")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let before = bench.balances().await;
    let event = bench.hear(&corrected("e2", job, 9, 2, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: insufficient_funds");
    assert_eq!(bench.balances().await, before);

    let mut tx = bench.engine.pool().begin().await.unwrap();
    wallet::thaw(&mut tx, of).await.unwrap();
    tx.commit().await.unwrap();
    bench.settle_after(TimeDelta::minutes(2)).await;
    assert_eq!(bench.outcome(event).await, "applied");
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_correction_downwards_reaches_a_frozen_wallet(pool: PgPool) {
    let (bench, job) = captured(pool, "cap", 8).await;
    let of = (bench.tenant, bench.wallet);
    let mut tx = bench.engine.pool().begin().await.unwrap();
    wallet::freeze(&mut tx, &bench.engine, of, "suspicion")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let event = bench.hear(&corrected("e2", job, 1, 2, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed adjusted held 0 captured 1 owed 0"
    );
    in_order(&bench).await;
}
