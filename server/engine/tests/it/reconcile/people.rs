//! What people do about exceptions, and what they are told.

use chrono::TimeDelta;
use domain::exception::{Class, Repair};
use engine::{
    exception::{ExceptionError, Step, views},
    reconcile::STUCK_AFTER,
};
use sqlx::PgPool;

use super::{below, busy, open, run};
use crate::bench::{Bench, by, succeeded_by_reference, until_blocked};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn people_take_snooze_and_note_and_nothing_of_it_closes(pool: PgPool) {
    let (bench, ann) = busy(pool).await;
    let bob = bench.operator("bob").await;
    below(&bench, "UPDATE lots SET remaining = remaining - 1").await;
    run(&bench).await;
    let ids: Vec<_> = open(&bench).await.iter().map(|one| one.id).collect();
    assert_eq!(ids.len(), 2);
    let engine = &bench.engine;
    let key = engine.mint();
    for _ in 0..2 {
        let take = engine.act_on_exceptions(&ids, Step::Take, (key, by(ann)));
        take.await.unwrap();
    }
    let mut conn = engine.pool().acquire().await.unwrap();
    let notes = views::notes(&mut conn, ids[0]).await.unwrap();
    assert_eq!(notes.len(), 2, "opened, and taken once: {notes:?}");
    let note = engine.act_on_exceptions(
        &ids[..1],
        Step::Note("seen after the restore"),
        (engine.mint(), by(bob)),
    );
    note.await.unwrap();

    let until = bench.now() + TimeDelta::days(1);
    let snooze = engine.act_on_exceptions(&ids, Step::Snooze(until), (engine.mint(), by(bob)));
    snooze.await.unwrap();
    let now = views::open(&mut conn, bench.now()).await.unwrap();
    assert_eq!((now.all, now.asking), (2, 0), "put off is not right");
    assert_eq!(views::open(&mut conn, until).await.unwrap().asking, 2);
    let past = engine.act_on_exceptions(&ids, Step::Snooze(bench.now()), (engine.mint(), by(bob)));
    assert!(matches!(past.await, Err(ExceptionError::NotAhead)));
    let silent = engine.act_on_exceptions(&ids, Step::Note("  "), (engine.mint(), by(bob)));
    assert!(matches!(silent.await, Err(ExceptionError::NoText)));
    let some = [ids[0], 999];
    let unknown = engine.act_on_exceptions(&some, Step::GiveBack, (engine.mint(), by(bob)));
    assert!(matches!(unknown.await, Err(ExceptionError::Unknown)));

    let found = open(&bench).await;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|one| one.owner.as_ref().unwrap().0 == ann));
    let without = found.iter().find(|one| one.class == Class::Lots).unwrap();
    let repair = engine.repair_exception(without.id, "because", (engine.mint(), by(ann)));
    assert!(matches!(repair.await, Err(ExceptionError::NoRepair)));
    let accept = engine.accept_exception(without.id, "so be it", (engine.mint(), by(ann)));
    assert!(matches!(accept.await, Err(ExceptionError::NotAcceptable)));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_waits_is_stuck_only_when_nobody_looks_at_it(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench
        .hear(&succeeded_by_reference("e1", "task-7", 2, 1))
        .await;
    bench.settle().await;
    bench.settle_after(TimeDelta::minutes(10)).await;
    assert_eq!(run(&bench).await.found, 0);
    // The workers stand still.
    bench
        .engine
        .clock()
        .advance(STUCK_AFTER + TimeDelta::minutes(20));
    assert_eq!(run(&bench).await.found, 1);
    assert_eq!(open(&bench).await[0].class.repair(), Some(Repair::Redrive));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_locks_in_the_order_of_a_run(pool: PgPool) {
    let (bench, ann) = busy(pool).await;
    below(&bench, "UPDATE lots SET remaining = remaining - 1").await;
    run(&bench).await;
    let newest_first: Vec<_> = open(&bench).await.iter().map(|one| one.id).collect();
    let [second, first] = newest_first[..] else {
        panic!("{newest_first:?}")
    };
    assert!(first < second);
    let lock = "SELECT FROM exceptions WHERE exception_id = $1 FOR UPDATE NOWAIT";
    let mut like_a_run = bench.begin().await;
    let taken = sqlx::query(lock).bind(first).execute(&mut *like_a_run);
    taken.await.unwrap();
    let engine = bench.engine.clone();
    let form = tokio::spawn(async move {
        let key = engine.mint();
        let ids = [second, first];
        engine
            .act_on_exceptions(&ids, Step::Take, (key, by(ann)))
            .await
    });
    until_blocked(&bench.owner).await;
    let taken = sqlx::query(lock).bind(second).execute(&mut *like_a_run);
    taken
        .await
        .expect("the form waits for the first before it takes the second");
    like_a_run.rollback().await.unwrap();
    form.await.unwrap().unwrap();
}
