//! A freeze, or a lift, against work that goes on at that moment.

use super::*;
use engine::settlement::Due;
use sqlx::{Postgres, Transaction};

/// A worker that has claimed an event, in a transaction of its own.
async fn claimed(bench: &Bench, event: EventId) -> (Transaction<'static, Postgres>, Vec<Due>) {
    let mut tx = bench.begin().await;
    let due = settlement::claim(&mut tx, Claim::Only(&[event]), bench.now())
        .await
        .unwrap();
    assert_eq!(due.len(), 1);
    (tx, due)
}

async fn settle_in(bench: &Bench, tx: &mut Transaction<'static, Postgres>, due: &[Due]) {
    let prices = Prices::default();
    let setting = Setting {
        engine: &bench.engine,
        prices: &prices,
        patience: Patience::default(),
        compare: false,
    };
    settlement::settle(tx, setting, due, bench.now())
        .await
        .unwrap();
}

async fn worker_before_freeze(pool: PgPool, of: fn(&Bench) -> Target) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let job = bench.submit(5).await;
    let (first, later) = (
        bench.hear(&started("a", job, 1)).await,
        bench.hear(&succeeded("b", job, 4, 2)).await,
    );
    let draft = desk.drafted(&request(&desk, Kind::Freeze, of(bench))).await;
    // It moves no money and locks no wallet, and yet the freeze waits for it.
    let (mut tx, due) = claimed(bench, first).await;
    settle_in(bench, &mut tx, &due).await;
    let worker = async {
        until_blocked(&bench.owner).await;
        assert_eq!(bench.outcome(first).await, "received");
        tx.commit().await.unwrap();
    };
    let (done, ()) = tokio::join!(desk.commit(draft), worker);
    assert_eq!(done.unwrap(), State::Done);
    bench.settle().await;
    assert_eq!(bench.outcome(first).await, "applied");
    assert!(bench.outcome(later).await.starts_with("waiting: "));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_freeze_of_a_tenant_waits_for_a_worker_that_settles(pool: PgPool) {
    worker_before_freeze(pool, tenant).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_freeze_of_a_source_waits_for_a_worker_that_settles(pool: PgPool) {
    worker_before_freeze(pool, source).await;
}

/// A freeze that is written and not committed, with a worker that has claimed an event before.
async fn freeze_before_worker(pool: PgPool, of: fn(&Bench) -> Target) -> String {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let job = bench.submit(5).await;
    let event = bench.hear(&succeeded("a", job, 4, 1)).await;
    let draft = desk.drafted(&request(&desk, Kind::Freeze, of(bench))).await;
    let (mut worker, due) = claimed(bench, event).await;
    let mut freeze = bench.begin().await;
    let by = crate::bench::by(desk.maker);
    engine::action::commit(&mut freeze, &bench.engine, draft.0, draft.1, by)
        .await
        .unwrap();
    let settle = async {
        settle_in(bench, &mut worker, &due).await;
        worker.commit().await.unwrap();
    };
    let commit = async {
        until_blocked(&bench.owner).await;
        freeze.commit().await.unwrap();
    };
    tokio::join!(settle, commit);
    assert_eq!(bench.settlements(job).await, ["reserve/1 5"]);
    let outcome = bench.outcome(event).await;
    lift(&desk, of(bench)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    outcome
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_waits_for_a_freeze_of_a_tenant_and_settles_nothing(pool: PgPool) {
    let outcome = freeze_before_worker(pool, tenant).await;
    assert_eq!(outcome, "waiting: tenant_frozen");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_waits_for_a_freeze_of_a_source_and_settles_nothing(pool: PgPool) {
    let outcome = freeze_before_worker(pool, source).await;
    assert_eq!(outcome, "waiting: source_frozen");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_submission_waits_for_a_freeze_and_is_refused(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let draft = desk
        .drafted(&request(&desk, Kind::Freeze, tenant(bench)))
        .await;
    let mut freeze = bench.begin().await;
    let by = crate::bench::by(desk.maker);
    engine::action::commit(&mut freeze, &bench.engine, draft.0, draft.1, by)
        .await
        .unwrap();
    let commit = async {
        until_blocked(&bench.owner).await;
        freeze.commit().await.unwrap();
    };
    let (submitted, ()) = tokio::join!(submit(bench), commit);
    assert!(matches!(submitted, Err(SubmitError::TenantFrozen { .. })));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_lift_does_not_wait_for_an_event_that_a_worker_holds(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let job = bench.submit(5).await;
    let (held, other) = (
        bench.hear(&started("a", job, 1)).await,
        bench.hear(&succeeded("b", job, 4, 2)).await,
    );
    freeze(&desk, tenant(bench)).await;
    bench.settle().await;
    // Due again, and claimed, when the lift comes.
    bench.engine.clock().advance(TimeDelta::minutes(1));
    let asked = ask_to_lift(&desk, tenant(bench)).await;
    let (mut worker, due) = claimed(bench, held).await;
    let lifted = desk.approve(asked, desk.checker).await;
    assert_eq!(lifted.unwrap(), State::Done);
    settle_in(bench, &mut worker, &due).await;
    worker.commit().await.unwrap();
    bench.settle().await;
    assert_eq!(bench.outcome(held).await, "applied");
    assert_eq!(bench.outcome(other).await, "applied");
    desk.in_order().await;
}
