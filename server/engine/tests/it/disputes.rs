//! Two contents under one key: the money at stake, and taking the other for the right one.

use domain::{
    action::{Kind, Request, State, Subject},
    id::{EventId, JobId},
};
use engine::{
    action::{ActionError, Refusal},
    case::{self, Stake, Verdict},
};
use sqlx::PgPool;

use crate::bench::{Desk, by, currency, failed, succeeded, usd};

/// A job that was charged 3 for an event, and another content of that event.
async fn disputed(
    pool: PgPool,
    other: impl Fn(JobId) -> serde_json::Value,
) -> (Desk, JobId, EventId, i64) {
    let desk = Desk::open(pool).await;
    desk.bench.grant("100", None).await;
    let job = desk.bench.submit(10).await;
    let event = desk.bench.hear(&succeeded("e1", job, 3, 1)).await;
    desk.bench.settle().await;
    let conflict = sqlx::query_scalar(
        "INSERT INTO conflicts (event_id, livemode, canonical_hash, raw_hash, body, received_at)
         SELECT event_id, livemode, sha256($2), sha256($2), $2, received_at FROM events
         WHERE event_id = $1 RETURNING conflict_id",
    )
    .bind(event.0)
    .bind(other(job).to_string().as_bytes())
    .fetch_one(&desk.bench.owner)
    .await
    .unwrap();
    (desk, job, event, conflict)
}

fn taking(desk: &Desk, job: JobId, conflict: i64, amount: &str) -> Request {
    let subject = Subject {
        job: Some(job),
        conflict: Some(conflict),
        ..Subject::wallet(desk.bench.wallet, currency())
    };
    desk.request_about(Kind::Charge, amount, subject)
}

async fn stake(desk: &Desk, conflict: i64) -> Option<Stake> {
    let mut conn = desk.bench.engine.pool().acquire().await.unwrap();
    case::stake(&mut conn, conflict).await.unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_stake_is_what_the_other_content_would_have_charged(pool: PgPool) {
    let (desk, job, _, conflict) = disputed(pool, |job| succeeded("e1", job, 5, 1)).await;
    let told = stake(&desk, conflict).await.unwrap();
    assert_eq!(
        (told.job, told.charged, told.other),
        (job, usd("3"), Some(usd("5")))
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn by_a_failure_nothing_would_have_been_charged(pool: PgPool) {
    let (desk, _, _, conflict) = disputed(pool, |job| failed("e1", job, 1)).await;
    assert_eq!(stake(&desk, conflict).await.unwrap().other, Some(usd("0")));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_cannot_be_read_has_no_stake(pool: PgPool) {
    let (desk, _, _, conflict) = disputed(pool, |_| serde_json::json!({ "type": 7 })).await;
    assert_eq!(stake(&desk, conflict).await.unwrap().other, None);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn taking_the_other_content_adjusts_and_decides_in_one(pool: PgPool) {
    let (desk, job, event, conflict) = disputed(pool, |job| succeeded("e1", job, 5, 1)).await;
    let draft = desk.drafted(&taking(&desk, job, conflict, "2")).await;
    assert_eq!(desk.commit(draft).await.unwrap(), State::Done);
    assert_eq!(
        desk.bench.balances().await,
        "available 95\nfunding -100\nrevenue 5\n"
    );
    let mut conn = desk.bench.engine.pool().acquire().await.unwrap();
    let decisions = case::views::decisions(&mut conn, event).await.unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (decisions[0].conflict, decisions[0].decision.as_str()),
        (Some(conflict), "accept_other")
    );
    drop(conn);
    assert_eq!(stake(&desk, conflict).await.unwrap().charged, usd("5"));
    desk.in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn whoever_decides_first_is_the_one_and_no_money_moves_for_the_other(pool: PgPool) {
    let (desk, job, event, conflict) = disputed(pool, |job| succeeded("e1", job, 5, 1)).await;
    let draft = desk.drafted(&taking(&desk, job, conflict, "2")).await;
    let keep = Verdict::KeepFirst(conflict);
    let why = "the provider has confirmed it";
    desk.bench
        .engine
        .decide_case(event, keep, why, by(desk.checker))
        .await
        .unwrap();
    let refused = desk.commit(draft).await;
    assert!(
        matches!(refused, Err(ActionError::Refused(Refusal::Decided))),
        "{refused:?}"
    );
    assert_eq!(
        desk.bench.balances().await,
        "available 97\nfunding -100\nrevenue 3\n"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_conflict_of_another_job_does_not_exist(pool: PgPool) {
    let (desk, _, _, conflict) = disputed(pool, |job| succeeded("e1", job, 5, 1)).await;
    let other = desk.bench.submit(10).await;
    let request = taking(&desk, other, conflict, "2");
    let unknown = desk.propose(desk.id(), &request).await;
    assert!(matches!(unknown, Err(ActionError::Unknown)), "{unknown:?}");
}
