//! Settling: events in any shape and order become the right entries, once.

use chrono::TimeDelta;
use sqlx::PgPool;

use crate::bench::{Bench, Order, corrected, failed, started, succeeded, succeeded_by_reference};

async fn with_credit(pool: PgPool, amount: &str) -> Bench {
    let bench = Bench::new(pool).await;
    bench.grant(amount, None).await;
    bench
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_success_captures_what_was_used_and_returns_the_rest_to_its_lots(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let soon = bench
        .grant("4", Some(bench.now() + TimeDelta::days(1)))
        .await;
    let late = bench.grant("20", None).await;
    let job = bench.submit(10).await;
    assert_eq!(
        (bench.remaining(soon).await, bench.remaining(late).await),
        ("0".into(), "14".into())
    );

    let start = bench.hear(&started("e1", job, 1)).await;
    let done = bench.hear(&succeeded("e2", job, 3, 2)).await;
    bench.settle().await;

    assert_eq!(
        (bench.outcome(start).await, bench.outcome(done).await),
        ("applied".into(), "applied".into())
    );
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 3 owed 0"
    );
    assert_eq!(
        bench.settlements(job).await,
        ["reserve/1 10", "capture/1 3"]
    );
    assert_eq!(
        bench.balances().await,
        "available 21\nfunding -24\nrevenue 3\n"
    );
    // What was spent is what would have expired soonest.
    assert_eq!(
        (bench.remaining(soon).await, bench.remaining(late).await),
        ("1".into(), "20".into())
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_failure_releases_the_hold(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(4).await;
    bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    assert_eq!(
        bench.job(job).await,
        "failed released held 0 captured 0 owed 0"
    );
    assert_eq!(bench.balances().await, "available 10\nfunding -10\n");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_completions_of_one_job_end_the_same_in_either_order(pool: PgPool) {
    let bench = with_credit(pool, "100").await;
    let (one, other) = (bench.submit(10).await, bench.submit(10).await);
    bench.hear(&succeeded("a1", one, 3, 5)).await;
    bench.settle().await;
    bench.hear(&succeeded("a2", one, 7, 4)).await;
    bench.settle().await;
    bench.hear(&succeeded("b2", other, 7, 4)).await;
    let later = bench.hear(&succeeded("b1", other, 3, 5)).await;
    bench.settle().await;
    assert_eq!(
        bench.outcome(later).await,
        "ignored: other_completion_prevails"
    );
    assert_eq!(
        bench.settlements(one).await,
        ["reserve/1 10", "capture/1 3", "adjustment/1 4"]
    );
    assert_eq!(
        bench.settlements(other).await,
        ["reserve/1 10", "capture/1 7"]
    );
    assert_eq!(
        bench.balances().await,
        "available 86\nfunding -100\nrevenue 14\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_correction_adjusts_the_charge(pool: PgPool) {
    let bench = with_credit(pool, "100").await;
    let job = bench.submit(10).await;
    bench.hear(&succeeded("e1", job, 6, 1)).await;
    bench.hear(&corrected("e2", job, 2, 2, 9)).await;
    bench.settle().await;
    assert_eq!(
        bench.job(job).await,
        "completed adjusted held 0 captured 2 owed 0"
    );
    assert_eq!(
        bench.balances().await,
        "available 98\nfunding -100\nrevenue 2\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_event_before_its_provider_reference_waits_and_goes_through(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let event = bench
        .hear(&succeeded_by_reference("e1", "task-7", 2, 1))
        .await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: job_unknown");
    let order = Order {
        reference: Some("task-7"),
        ..Order::default()
    };
    let job = bench.order(5, order).await;
    // Attaching the reference makes what waited for it due.
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 2 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_event_whose_job_never_comes_is_rejected_after_the_grace_period(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let event = bench
        .hear(&succeeded_by_reference("e1", "task-7", 2, 1))
        .await;
    bench.settle().await;
    bench.settle_after(TimeDelta::hours(23)).await;
    assert_eq!(bench.outcome(event).await, "waiting: job_unknown");
    bench.settle_after(TimeDelta::hours(2)).await;
    assert_eq!(bench.outcome(event).await, "rejected: unknown_job");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_event_that_names_both_teaches_us_the_reference(pool: PgPool) {
    let bench = with_credit(pool, "20").await;
    let (job, other) = (bench.submit(5).await, bench.submit(5).await);
    let mut start = started("e1", job, 1);
    start["data"]["provider_reference"] = "task-9".into();
    bench.hear(&start).await;
    let done = bench
        .hear(&succeeded_by_reference("e2", "task-9", 2, 2))
        .await;
    let mut wrong = succeeded("e3", other, 2, 3);
    wrong["data"]["provider_reference"] = "task-9".into();
    let wrong = bench.hear(&wrong).await;
    bench.settle().await;
    assert_eq!(bench.outcome(done).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 2 owed 0"
    );
    assert_eq!(bench.outcome(wrong).await, "rejected: reference_mismatch");
    assert_eq!(
        bench.job(other).await,
        "pending reserved held 5 captured 0 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_late_success_reserves_again(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(4).await;
    bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    bench.hear(&succeeded("e2", job, 3, 2)).await;
    bench.settle().await;
    assert_eq!(
        bench.settlements(job).await,
        ["reserve/1 4", "release/1 4", "reserve/2 3", "capture/1 3"]
    );
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 3 owed 0"
    );
    assert_eq!(
        bench.balances().await,
        "available 7\nfunding -10\nrevenue 3\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_late_success_without_funds_waits_for_a_top_up(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(4).await;
    bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    let spender = bench.submit(9).await;
    let event = bench.hear(&succeeded("e2", job, 3, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "waiting: insufficient_funds");
    assert_eq!(
        bench.job(job).await,
        "failed released held 0 captured 0 owed 0"
    );
    bench.grant("5", None).await;
    // Credit wakes what waited for it.
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 3 owed 0"
    );
    assert_eq!(
        bench.job(spender).await,
        "pending reserved held 9 captured 0 owed 0"
    );
    assert_eq!(
        bench.balances().await,
        "available 3\nfunding -15\nheld 9\nrevenue 3\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_one_event_of_a_batch_returns_the_next_may_spend(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let revived = bench.submit(4).await;
    bench.hear(&failed("e1", revived, 1)).await;
    bench.settle().await;
    let whole = bench.submit(10).await;
    bench.hear(&succeeded("e2", whole, 1, 2)).await;
    let late = bench.hear(&succeeded("e3", revived, 3, 2)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(late).await, "applied");
    assert_eq!(
        bench.balances().await,
        "available 6\nfunding -10\nrevenue 4\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn usage_above_the_hold_follows_the_tenants_policy(pool: PgPool) {
    let bench = with_credit(pool, "12").await;
    for (policy, job_after, balances) in [
        (
            "cap",
            "completed captured held 0 captured 2 owed 0",
            "available 10\nfunding -12\nrevenue 2\n",
        ),
        (
            "charge",
            "completed captured held 0 captured 5 owed 0",
            "available 5\nfunding -12\nrevenue 7\n",
        ),
        (
            "receivable",
            "completed captured held 0 captured 5 owed 3",
            "available 3\nfunding -12\nreceivable -3\nrevenue 12\n",
        ),
        (
            "charge",
            "completed captured held 0 captured 5 owed 2",
            "funding -12\nreceivable -5\nrevenue 17\n",
        ),
    ] {
        sqlx::query("UPDATE tenants SET overage = $1")
            .bind(policy)
            .execute(&bench.owner)
            .await
            .unwrap();
        let job = bench.submit(2).await;
        bench.hear(&succeeded(&job.to_string(), job, 5, 1)).await;
        bench.settle().await;
        assert_eq!(bench.job(job).await, job_after, "{policy}");
        assert_eq!(bench.balances().await, balances, "{policy}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn events_that_do_not_fit_their_job_are_rejected_and_move_nothing(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(4).await;
    let test = domain::id::SourceId(bench.engine.mint());
    bench.open_source(test, "acme-test", false).await;
    let test_event = bench.hear_from(test, &succeeded("e1", job, 1, 1)).await;
    let mut model = succeeded("e2", job, 1, 1);
    model["data"]["model"] = "studio/other".into();
    let model = bench.hear(&model).await;
    let mut priceless = succeeded("e3", job, 1, 1);
    priceless["data"]["usage"] = serde_json::json!({ "seconds": "3" });
    let priceless = bench.hear(&priceless).await;
    let mut float = succeeded("e4", job, 1, 1);
    float["data"]["usage"] = serde_json::json!({ "images": 1.5 });
    let float = bench.hear(&float).await;
    let unused = bench
        .hear(&serde_json::json!({ "id": "e5", "type": "job.log", "data": {} }))
        .await;
    bench.settle().await;
    assert_eq!(bench.outcome(test_event).await, "rejected: mode_mismatch");
    assert_eq!(bench.outcome(model).await, "rejected: model_mismatch");
    assert_eq!(
        bench.outcome(priceless).await,
        "rejected: usage_unpriceable"
    );
    assert_eq!(bench.outcome(float).await, "rejected: usage_invalid");
    assert_eq!(bench.outcome(unused).await, "ignored: unused_type");
    assert_eq!(
        bench.job(job).await,
        "pending reserved held 4 captured 0 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn another_source_cannot_speak_of_a_job(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench
        .order(
            4,
            Order {
                reference: Some("task-1"),
                ..Order::default()
            },
        )
        .await;
    let other = domain::id::SourceId(bench.engine.mint());
    bench.open_source(other, "rival", true).await;
    let event = bench.hear_from(other, &succeeded("e1", job, 1, 1)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "rejected: source_mismatch");
    assert_eq!(
        bench.job(job).await,
        "pending reserved held 4 captured 0 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_required_output_holds_completion_back_but_not_the_charge(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench
        .order(
            4,
            Order {
                output_required: true,
                ..Order::default()
            },
        )
        .await;
    bench.hear(&succeeded("e1", job, 3, 1)).await;
    bench.settle().await;
    assert_eq!(
        bench.job(job).await,
        "delivering captured held 0 captured 3 owed 0"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_unrefundable_failure_is_charged(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    sqlx::query("UPDATE tenants SET refund_on_failure = false")
        .execute(&bench.owner)
        .await
        .unwrap();
    let job = bench.submit(4).await;
    bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    assert_eq!(
        bench.job(job).await,
        "failed captured held 0 captured 4 owed 0"
    );
}
