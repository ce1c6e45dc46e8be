//! Tasks: what was chosen is frozen and rehearsed, each thing is done once, and the others go on.

use chrono::TimeDelta;
use domain::{
    exception::Cause,
    id::{EventId, JobId, OperatorId, TaskId},
    task::{Kind, Outcome, Promise, State},
};
use engine::{
    books,
    case::Verdict,
    exception::views::{self as exceptions, Filter},
    page::Cursor,
    task::{
        New, TaskError,
        views::{self, Item, Task},
    },
};
use sqlx::PgPool;

use crate::bench::{Bench, Order, by, succeeded_by_reference, until_blocked, usd};

const WHY: &str = "the jobs were submitted late";

/// Three events that were rejected, and the jobs of two of them, which turned up since.
async fn late(bench: &Bench) -> (Vec<EventId>, Vec<JobId>) {
    bench.grant("100", None).await;
    let mut events = Vec::new();
    for (number, reference) in ["one", "two", "three"].into_iter().enumerate() {
        let id = format!("e{number}");
        events.push(
            bench
                .hear(&succeeded_by_reference(&id, reference, 2, 1))
                .await,
        );
    }
    bench.settle().await;
    bench.settle_after(TimeDelta::hours(25)).await;
    let mut jobs = Vec::new();
    for reference in ["one", "two"] {
        let order = Order {
            reference: Some(reference),
            ..Order::default()
        };
        jobs.push(bench.order(5, order).await);
    }
    (events, jobs)
}

fn new(bench: &Bench, kind: Kind, things: Vec<i64>) -> New {
    New {
        id: TaskId(bench.engine.mint()),
        kind,
        livemode: true,
        chosen: "state=rejected".to_owned(),
        things,
    }
}

async fn read(bench: &Bench, id: TaskId) -> (Task, Vec<Item>) {
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let task = views::find(&mut conn, id).await.unwrap().unwrap();
    (task, views::items(&mut conn, id).await.unwrap())
}

async fn make(bench: &Bench, who: OperatorId, things: &[EventId]) -> TaskId {
    let things = things.iter().map(|event| event.0).collect();
    let task = new(bench, Kind::Replay, things);
    // A form that is sent twice is one task.
    for _ in 0..2 {
        bench.engine.make_task(&task, by(who)).await.unwrap();
    }
    task.id
}

async fn work(bench: &Bench) {
    while bench.engine.work_on_tasks().await.unwrap() {}
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_replay_of_many_does_what_its_rehearsal_showed_and_once(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let (events, jobs) = late(&bench).await;
    let before = bench.balances().await;

    let id = make(&bench, who, &events).await;
    let (task, items) = read(&bench, id).await;
    assert_eq!((task.state, task.things), (State::Draft, 3));
    let promised: Vec<_> = items
        .iter()
        .map(|item| (item.promise, item.promised.as_str()))
        .collect();
    let posts = "applied; capture 2 USD, remainder 3 USD";
    assert_eq!(
        promised,
        [
            (Promise::Posts, posts),
            (Promise::Posts, posts),
            (Promise::Nothing, "rejected: unknown_job"),
        ]
    );
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    assert_eq!(views::sums(&mut conn, id).await.unwrap(), [usd("4")]);
    // The rehearsal left nothing.
    assert_eq!(bench.balances().await, before);
    work(&bench).await;
    assert_eq!(bench.outcome(events[0]).await, "rejected: unknown_job");

    let start = bench.engine.start_task(id, "why", by(who)).await;
    assert!(matches!(start, Err(TaskError::NoReason)), "{start:?}");
    bench.engine.start_task(id, WHY, by(who)).await.unwrap();
    let again = bench.engine.start_task(id, WHY, by(who)).await;
    assert!(
        matches!(again, Err(TaskError::Further(State::Running))),
        "{again:?}"
    );
    work(&bench).await;
    bench.settle().await;
    let (task, items) = read(&bench, id).await;
    assert_eq!((task.state, task.done, task.refused), (State::Done, 3, 0));
    assert!(items.iter().all(|item| item.outcome == Some(Outcome::Done)));
    for job in jobs {
        assert_eq!(bench.settlements(job).await, ["reserve/1 5", "capture/1 2"]);
    }
    assert_eq!(bench.outcome(events[2]).await, "rejected: unknown_job");
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
    let lines = "SELECT count(*) FROM audit_log WHERE action = 'case.replay'";
    let lines: i64 = sqlx::query_scalar(lines)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(lines, 3, "each decision is in the audit log");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_was_decided_meanwhile_is_refused_and_the_others_go_on(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let (ann, bob) = (bench.operator("ann").await, bench.operator("bob").await);
    let (events, _) = late(&bench).await;
    let id = make(&bench, ann, &events).await;
    let dismissed =
        bench
            .engine
            .decide_case(events[0], Verdict::Dismiss, "it is a duplicate", by(bob));
    dismissed.await.unwrap();
    bench.engine.start_task(id, WHY, by(ann)).await.unwrap();
    work(&bench).await;
    let (task, items) = read(&bench, id).await;
    assert_eq!((task.state, task.done, task.refused), (State::Done, 2, 1));
    let told = items[0].told.as_deref().unwrap();
    assert!(told.contains("bob decided this before"), "{told}");
    bench.settle().await;
    assert_eq!(bench.outcome(events[0]).await, "ignored: dismissed");
    assert_eq!(bench.outcome(events[1]).await, "applied");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn workers_share_a_task_and_a_stopped_one_stays_where_it_is(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let (events, _) = late(&bench).await;
    let id = make(&bench, who, &events).await;
    bench.engine.start_task(id, WHY, by(who)).await.unwrap();
    // One worker has a thing in hand; another passes over it.
    let mut in_hand = bench.begin().await;
    let lock = "SELECT FROM task_items WHERE task_id = $1 AND number = 1 FOR UPDATE";
    sqlx::query(lock)
        .bind(id.0)
        .execute(&mut *in_hand)
        .await
        .unwrap();
    assert!(bench.engine.work_on_tasks().await.unwrap());
    let (_, items) = read(&bench, id).await;
    let outcomes: Vec<_> = items.iter().map(|item| item.outcome.is_some()).collect();
    assert_eq!(outcomes, [false, true, false]);
    bench.engine.cancel_task(id, by(who)).await.unwrap();
    in_hand.rollback().await.unwrap();
    work(&bench).await;
    let (task, items) = read(&bench, id).await;
    let outcomes: Vec<_> = items.iter().map(|item| item.outcome.is_some()).collect();
    assert_eq!(
        (task.state, outcomes),
        (State::Cancelled, vec![false, true, false])
    );
    let start = bench.engine.start_task(id, WHY, by(who)).await;
    assert!(
        matches!(start, Err(TaskError::Further(State::Cancelled))),
        "{start:?}"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_outcome_and_what_it_tells_of_commit_together(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let (events, _) = late(&bench).await;
    let id = make(&bench, who, &events[..1]).await;
    bench.engine.start_task(id, WHY, by(who)).await.unwrap();
    // The worker dies between deciding and committing.
    let mut in_the_way = bench.owner.begin().await.unwrap();
    let lock = "SELECT FROM events WHERE event_id = $1 FOR UPDATE";
    sqlx::query(lock)
        .bind(events[0].0)
        .execute(&mut *in_the_way)
        .await
        .unwrap();
    let engine = bench.engine.clone();
    let doomed = tokio::spawn(async move { engine.work_on_tasks().await });
    until_blocked(&bench.owner).await;
    doomed.abort();
    assert!(doomed.await.unwrap_err().is_cancelled());
    in_the_way.rollback().await.unwrap();
    work(&bench).await;
    let (task, _) = read(&bench, id).await;
    assert_eq!((task.state, task.done), (State::Done, 1));
    let decisions = "SELECT count(*) FROM case_decisions";
    let decisions: i64 = sqlx::query_scalar(decisions)
        .fetch_one(&bench.owner)
        .await
        .unwrap();
    assert_eq!(decisions, 1);
    // An outcome stands, whoever would have it otherwise.
    let change = "UPDATE task_items SET outcome = 'refused', told = 'no' WHERE task_id = $1";
    let change = sqlx::query(change).bind(id.0).execute(&bench.owner).await;
    assert!(change.is_err());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn many_projections_are_put_right_at_once(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    bench.grant("100", None).await;
    bench.grant("50", None).await;
    let damage = "UPDATE lots SET remaining = remaining - 1; UPDATE balances SET balance = balance - 7 WHERE balance < 0";
    sqlx::raw_sql(damage).execute(&bench.owner).await.unwrap();
    let run = || bench.engine.reconcile(Cause::CommandLine, None, None);
    run().await.unwrap();
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let all = exceptions::list(&mut conn, &Filter::default(), Cursor::Newest).await;
    let all: Vec<_> = all.unwrap().rows;
    let task = new(&bench, Kind::Repair, all.iter().map(|one| one.id).collect());
    bench.engine.make_task(&task, by(who)).await.unwrap();
    let (_, items) = read(&bench, task.id).await;
    let promises: Vec<_> = items.iter().map(|item| item.promise).collect();
    let cannot = promises
        .iter()
        .filter(|one| **one == Promise::Cannot)
        .count();
    assert_eq!((promises.len(), cannot), (5, 2), "{items:?}");
    bench
        .engine
        .start_task(task.id, WHY, by(who))
        .await
        .unwrap();
    work(&bench).await;
    let (done, _) = read(&bench, task.id).await;
    assert_eq!((done.state, done.done, done.refused), (State::Done, 3, 2));
    let last = run().await.unwrap();
    assert_eq!((last.found, last.closed), (0, 5));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_task_of_nothing_or_of_too_much_is_not_made(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let nothing = new(&bench, Kind::Replay, vec![]);
    let made = bench.engine.make_task(&nothing, by(who)).await;
    assert!(matches!(made, Err(TaskError::Empty)), "{made:?}");
    let much = new(&bench, Kind::Replay, (1..=501).collect());
    let made = bench.engine.make_task(&much, by(who)).await;
    assert!(matches!(made, Err(TaskError::TooMany)), "{made:?}");
    let unknown = new(&bench, Kind::Replay, vec![7]);
    bench.engine.make_task(&unknown, by(who)).await.unwrap();
    let (_, items) = read(&bench, unknown.id).await;
    assert_eq!(items[0].promise, Promise::Cannot);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_rehearsal_gives_way_and_blames_no_event(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let who = bench.operator("ann").await;
    let (events, jobs) = late(&bench).await;
    let mut at_work = bench.owner.begin().await.unwrap();
    let lock = "SELECT FROM jobs WHERE job_id = $1 FOR UPDATE";
    let taken = sqlx::query(lock).bind(jobs[0].0).execute(&mut *at_work);
    taken.await.unwrap();
    let task = new(
        &bench,
        Kind::Replay,
        events.iter().map(|one| one.0).collect(),
    );
    let made = bench.engine.make_task(&task, by(who)).await;
    assert!(matches!(made, Err(TaskError::InTheWay)), "{made:?}");
    at_work.rollback().await.unwrap();
    bench.engine.make_task(&task, by(who)).await.unwrap();
    let (_, items) = read(&bench, task.id).await;
    assert_eq!(items[0].promise, Promise::Posts);
}
