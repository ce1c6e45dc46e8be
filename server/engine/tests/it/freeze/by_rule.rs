//! Freezes by what a reconciliation run finds.

use super::*;
use domain::exception::{Cause, Reach};
use engine::{freeze::set_rule, reconcile::STUCK_AFTER};

async fn rule(bench: &Bench, above: Option<i32>) -> Option<i32> {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    set_rule(&mut conn, &bench.engine, above, "test")
        .await
        .unwrap()
}

async fn run(bench: &Bench) -> usize {
    let done = bench
        .engine
        .reconcile(Cause::CommandLine, Some(Reach::Full), None)
        .await;
    done.unwrap().found
}

async fn frozen(bench: &Bench) -> Vec<views::Freeze> {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    views::in_force(&mut conn, None).await.unwrap()
}

/// Changes balances of the wallet below the application: one exception each, and their sum's.
async fn tamper(bench: &Bench) {
    sqlx::query("UPDATE balances SET balance = balance + 1 WHERE account_id IN (SELECT account_id FROM accounts WHERE wallet_id = $1)")
        .bind(bench.wallet.0)
        .execute(&bench.owner)
        .await
        .unwrap();
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_that_finds_too_much_freezes_the_tenant_and_two_people_lift_it(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    let job = bench.submit(5).await;
    let neighbour = bench.neighbour().await;
    tamper(bench).await;
    assert!(run(bench).await > 2);
    assert!(frozen(bench).await.is_empty(), "no rule is set");

    let found = i32::try_from(run(bench).await).unwrap();
    assert_eq!(rule(bench, Some(found)).await, Some(1));
    assert_eq!(rule(bench, Some(found)).await, None, "it is that already");
    run(bench).await;
    assert!(
        frozen(bench).await.is_empty(),
        "as many as the rule allows are no more than it allows"
    );
    assert_eq!(rule(bench, Some(1)).await, Some(2));
    run(bench).await;
    run(bench).await;
    let [one] = &frozen(bench).await[..] else {
        panic!("one tenant is frozen, once");
    };
    assert_eq!(one.of, engine::freeze::Of::Tenant(bench.tenant));
    assert_eq!(one.by, FrozenBy::Rule { version: 2, run: 4 });
    assert!(one.reason.contains("Run 4 found"), "{}", one.reason);
    let line: (String, Option<uuid::Uuid>) =
        sqlx::query_as("SELECT actor, operator_id FROM audit_log WHERE action = 'tenant.freeze'")
            .fetch_one(&bench.owner)
            .await
            .unwrap();
    assert_eq!(line, ("freeze rule".to_owned(), None));

    let event = bench.hear(&succeeded("a", job, 4, 1)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: tenant_frozen");
    assert!(submit(bench).await.is_err());
    neighbour.grant("10", None).await;
    submit(&neighbour).await.unwrap();

    let asked = ask_to_lift(&desk, tenant(bench)).await;
    let own = desk.approve(asked, desk.maker).await;
    assert!(matches!(own, Err(ActionError::NotYours(NotYours::Own))));
    assert_eq!(
        desk.approve(asked, desk.checker).await.unwrap(),
        State::Done
    );
    assert!(frozen(bench).await.is_empty());
    // It is still wrong, so the next run stops it again; without a rule none does.
    run(bench).await;
    assert_eq!(frozen(bench).await.len(), 1);
    lift(&desk, tenant(bench)).await;
    assert_eq!(rule(bench, None).await, Some(3));
    run(bench).await;
    assert!(frozen(bench).await.is_empty());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_only_late_freezes_nobody(pool: PgPool) {
    let desk = desk(pool).await;
    let bench = &desk.bench;
    rule(bench, Some(0)).await;
    let job = bench.submit(5).await;
    let event = bench.hear(&succeeded("a", job, 4, 1)).await;
    sqlx::query("UPDATE events SET tenant_id = $1, job_id = $2")
        .bind(bench.tenant.0)
        .bind(job.0)
        .execute(&bench.owner)
        .await
        .unwrap();
    bench
        .engine
        .clock()
        .advance(STUCK_AFTER + TimeDelta::minutes(1));
    assert_eq!(run(bench).await, 1);
    assert!(frozen(bench).await.is_empty());
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
}
