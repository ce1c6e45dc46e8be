//! Cases: decided once, by a person with a reason, and without moving money by themselves.

use chrono::TimeDelta;
use domain::{
    event::{CaseDecision, EventState},
    id::{EventId, OperatorId},
};
use engine::{
    books,
    case::{CaseError, Verdict, views},
    event, overview,
    page::Cursor,
};
use sqlx::PgPool;

use crate::bench::{Bench, Order, by, failed, succeeded, succeeded_by_reference};

const WHY: &str = "the provider has confirmed it";

async fn decide(
    bench: &Bench,
    who: OperatorId,
    event: EventId,
    verdict: Verdict,
) -> Result<(), CaseError> {
    bench.engine.decide_case(event, verdict, WHY, by(who)).await
}

/// An event whose job did not turn up within the grace period.
async fn rejected(bench: &Bench) -> EventId {
    let event = bench
        .hear(&succeeded_by_reference("e1", "task-7", 2, 1))
        .await;
    bench.settle().await;
    bench.settle_after(TimeDelta::hours(25)).await;
    assert_eq!(bench.outcome(event).await, "rejected: unknown_job");
    event
}

/// Another content under the key of an event.
async fn contradict(bench: &Bench, event: EventId) -> i64 {
    sqlx::query_scalar(
        "INSERT INTO conflicts (event_id, livemode, canonical_hash, raw_hash, body, received_at)
         SELECT event_id, livemode, sha256('other'), sha256('other'), '{}', received_at FROM events
         WHERE event_id = $1 RETURNING conflict_id",
    )
    .bind(event.0)
    .fetch_one(&bench.owner)
    .await
    .unwrap()
}

async fn contradicted(bench: &Bench) -> usize {
    let filter = event::views::Filter {
        livemode: true,
        contradicted: true,
        ..Default::default()
    };
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let page = event::views::list(&mut conn, &filter, Cursor::Newest).await;
    page.unwrap().rows.len()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_replay_settles_under_the_events_own_identity_and_once(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let who = bench.operator("ann").await;
    let event = rejected(&bench).await;
    let order = Order {
        reference: Some("task-7"),
        ..Order::default()
    };
    let job = bench.order(5, order).await;
    for round in 0..2 {
        let decided = decide(&bench, who, event, Verdict::Replay).await;
        assert_eq!(decided.is_ok(), round == 0, "{decided:?}");
        bench.settle().await;
    }
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(bench.settlements(job).await, ["reserve/1 5", "capture/1 2"]);
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_still_cannot_be_used_comes_back_to_the_desk(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let event = rejected(&bench).await;
    for _ in 0..2 {
        decide(&bench, who, event, Verdict::Replay).await.unwrap();
        bench.settle().await;
        assert_eq!(bench.outcome(event).await, "rejected: unknown_job");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_people_on_one_case_decide_it_once_and_the_other_is_told(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let (ann, bob) = (bench.operator("ann").await, bench.operator("bob").await);
    let event = rejected(&bench).await;
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    for (livemode, waiting) in [(true, Some(&1)), (false, None)] {
        let counted = overview::attention(&mut conn, livemode).await.unwrap();
        assert_eq!(counted.get(&EventState::Rejected), waiting);
    }
    drop(conn);
    let (one, other) = tokio::join!(
        decide(&bench, ann, event, Verdict::Dismiss),
        decide(&bench, bob, event, Verdict::Dismiss)
    );
    let (loser, winner) = match (one, other) {
        (Ok(()), Err(error)) => (error, "ann"),
        (Err(error), Ok(())) => (error, "bob"),
        both => panic!("{both:?}"),
    };
    assert!(
        matches!(&loser, CaseError::Decided { by, decision: CaseDecision::Dismiss } if by == winner),
        "{loser}"
    );
    assert_eq!(bench.outcome(event).await, "ignored: dismissed");
    // Nothing looks at it again.
    bench.settle_after(TimeDelta::days(2)).await;
    assert_eq!(bench.outcome(event).await, "ignored: dismissed");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn keeping_the_first_content_closes_the_conflict_and_moves_nothing(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let (ann, bob) = (bench.operator("ann").await, bench.operator("bob").await);
    let job = bench.submit(5).await;
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    bench.settle().await;
    let conflict = contradict(&bench, event).await;
    let before = bench.balances().await;
    assert_eq!(contradicted(&bench).await, 1);
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    // Each mode has its own desk.
    for (livemode, waiting) in [(true, 1), (false, 0)] {
        let counted = overview::contradicted(&mut conn, livemode).await.unwrap();
        assert_eq!(counted, waiting);
    }
    drop(conn);
    decide(&bench, ann, event, Verdict::KeepFirst(conflict))
        .await
        .unwrap();
    let again = decide(&bench, bob, event, Verdict::KeepFirst(conflict)).await;
    assert!(
        matches!(&again, Err(CaseError::Decided { by, .. }) if by == "ann"),
        "{again:?}"
    );
    assert_eq!(contradicted(&bench).await, 0);
    assert_eq!(bench.balances().await, before);
    assert_eq!(bench.outcome(event).await, "applied");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn there_is_nothing_to_decide_about_an_event_in_use(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let who = bench.operator("ann").await;
    let job = bench.submit(5).await;
    let event = bench.hear(&failed("e1", job, 1)).await;
    bench.settle().await;
    for verdict in [Verdict::Dismiss, Verdict::Replay] {
        let refused = decide(&bench, who, event, verdict).await;
        assert!(
            matches!(refused, Err(CaseError::NotOpen(EventState::Applied))),
            "{refused:?}"
        );
    }
    // A conflict of another event is none of this one.
    let other = bench.hear(&succeeded("e2", job, 1, 2)).await;
    let conflict = contradict(&bench, other).await;
    let refused = decide(&bench, who, event, Verdict::KeepFirst(conflict)).await;
    assert!(matches!(refused, Err(CaseError::Unknown)), "{refused:?}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_decision_needs_a_reason_and_leaves_a_line(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let event = rejected(&bench).await;
    let bare = bench
        .engine
        .decide_case(event, Verdict::Dismiss, " because ", by(who))
        .await;
    assert!(matches!(bare, Err(CaseError::NoReason)));
    assert_eq!(bench.outcome(event).await, "rejected: unknown_job");
    decide(&bench, who, event, Verdict::Dismiss).await.unwrap();
    let mut conn = bench.owner.acquire().await.unwrap();
    let decisions = views::decisions(&mut conn, event).await.unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (decisions[0].by.as_str(), decisions[0].reason.as_str()),
        ("ann", WHY)
    );
    let lines: Vec<String> = sqlx::query_scalar("SELECT action FROM audit_log ORDER BY audit_id")
        .fetch_all(&mut *conn)
        .await
        .unwrap();
    assert_eq!(lines, ["case.dismiss"]);
}
