//! Runs: one at a time, while work goes on, of everything or of what is new, and over rows that cannot be read.

use std::{cell::Cell, time::Duration};

use domain::exception::{Cause, Class, Reach};
use domain::{exception::Outcome, id::WalletId};
use engine::{
    Engine,
    page::Cursor,
    reconcile::{
        ReconcileError,
        views::{Run, last_outcome, runs},
    },
    wallet::{self, Grant},
    worker::{self, Settings, Wake},
};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::{below, busy, open, reach, run};
use crate::bench::{Bench, corrected, succeeded, until_blocked, usd};

/// Runs so far, oldest first.
async fn history(engine: &Engine) -> Vec<Run> {
    let mut conn = engine.pool().acquire().await.unwrap();
    let mut rows = runs(&mut conn, Cursor::Newest).await.unwrap().rows;
    rows.reverse();
    rows
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_busy_system_has_no_exceptions(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10000", None).await;
    let stop = CancellationToken::new();
    let wake = Wake::default();
    let settings = Settings {
        settlers: 2,
        shards: 1,
        poll: Duration::from_millis(1),
        seal_every: Some(Duration::from_millis(1)),
        ..Default::default()
    };
    let mut workers = worker::spawn(&bench.engine, &settings, &wake, &stop);
    let loaded = Cell::new(false);
    let load = async {
        for number in 0..150 {
            let job = bench.submit(3).await;
            let (done, again) = (format!("s{number}"), format!("c{number}"));
            bench.hear(&succeeded(&done, job, 2, 1)).await;
            bench.hear(&corrected(&again, job, 1, 2, 2)).await;
            wake.all();
        }
        loaded.set(true);
    };
    let watch = async {
        let mut seen = Vec::new();
        while !loaded.get() {
            let reach_now = [Reach::Full, Reach::Incremental][seen.len() % 2];
            let tally = reach(&bench, reach_now).await;
            assert_eq!(tally.found, 0, "{:?}", open(&bench).await);
            let rows = "SELECT count(*) FROM settlements";
            let rows: i64 = sqlx::query_scalar(rows)
                .fetch_one(&bench.owner)
                .await
                .unwrap();
            seen.push(rows);
        }
        seen
    };
    let ((), seen) = tokio::join!(load, watch);
    let grew = seen.windows(2).filter(|pair| pair[0] < pair[1]).count();
    assert!(
        grew >= 4,
        "runs and work were not at the same time: {seen:?}"
    );
    stop.cancel();
    while workers.join_next().await.is_some() {}
    bench.settle().await;
    assert_eq!(reach(&bench, Reach::Incremental).await.found, 0);
    assert_eq!(run(&bench).await.found, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn there_is_one_run_at_a_time(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    let mut in_the_way = bench.owner.begin().await.unwrap();
    let lock = "LOCK TABLE lots IN ACCESS EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *in_the_way).await.unwrap();
    let engine = bench.engine.clone();
    let first = tokio::spawn(async move { engine.reconcile(Cause::Scheduled, None, None).await });
    until_blocked(&bench.owner).await;
    let second = bench.engine.reconcile(Cause::CommandLine, None, None);
    let at_once = Duration::from_secs(20);
    let second = tokio::time::timeout(at_once, second)
        .await
        .expect("it does not wait");
    assert!(matches!(second, Err(ReconcileError::Busy)), "{second:?}");
    in_the_way.rollback().await.unwrap();
    assert_eq!(first.await.unwrap().unwrap().found, 0);
    let outcomes: Vec<_> = history(&bench.engine)
        .await
        .iter()
        .map(|run| run.outcome)
        .collect();
    assert_eq!(
        outcomes,
        [Outcome::InOrder, Outcome::InOrder],
        "busy leaves no run"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_of_what_is_new_reads_what_is_new(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    run(&bench).await;
    let mut seen = Vec::new();
    for round in 0..3 {
        let job = bench.submit(3).await;
        bench
            .hear(&succeeded(&format!("r{round}"), job, 2, 1))
            .await;
        bench.settle().await;
        let tally = reach(&bench, Reach::Incremental).await;
        assert_eq!((tally.reach, tally.found), (Reach::Incremental, 0));
        seen.push(
            history(&bench.engine)
                .await
                .pop()
                .unwrap()
                .examined
                .unwrap(),
        );
    }
    let all = history(&bench.engine).await;
    let full = all.iter().rfind(|run| run.reach == Reach::Full).unwrap();
    assert!(seen[2] < full.examined.unwrap(), "{seen:?}");
    // A platform account has no running balances; its mark has been added to three times.
    let damage = "UPDATE balances SET balance = balance + 1 WHERE balance < 0";
    below(&bench, damage).await;
    let found = reach(&bench, Reach::Incremental).await;
    let classes: Vec<_> = open(&bench).await.iter().map(|one| one.class).collect();
    assert_eq!(found.found, 2);
    assert!(classes.contains(&Class::Balance) && classes.contains(&Class::TrialBalance));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_commits_late_is_new_when_it_commits(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    let other = WalletId(bench.engine.mint());
    bench.open_wallet(other, true).await;
    let credit = Grant {
        tenant: bench.tenant,
        wallet: other,
        key: "late".to_owned(),
        amount: usd("5"),
        expires_at: None,
        note: "test".to_owned(),
        action: None,
    };
    let mut late = bench.begin().await;
    let lot = wallet::grant(&mut late, &bench.engine, &credit)
        .await
        .unwrap();
    // Younger work commits, and runs go over it, before the older transaction does.
    let job = bench.submit(3).await;
    bench.hear(&succeeded("young", job, 2, 1)).await;
    bench.settle().await;
    run(&bench).await;
    reach(&bench, Reach::Incremental).await;
    late.commit().await.unwrap();
    let damage = format!(
        "UPDATE settlements SET amount = amount + 1 WHERE subject_id = '{}'",
        lot.lot.0
    );
    below(&bench, &damage).await;
    reach(&bench, Reach::Incremental).await;
    let found: Vec<_> = open(&bench).await.iter().map(|one| one.class).collect();
    assert_eq!(found, [Class::Content, Class::Grant], "it was read");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn only_a_run_of_everything_says_that_all_is_right_again(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    run(&bench).await;
    let scheduled = || bench.engine.reconcile(Cause::Scheduled, None, None);
    assert_eq!(scheduled().await.unwrap().reach, Reach::Incremental);
    // What is changed behind a run is not new.
    let damage =
        "UPDATE settlements SET snapshot = snapshot || '{\"x\": 1}' WHERE phase = 'capture'";
    below(&bench, damage).await;
    assert_eq!(scheduled().await.unwrap().found, 0);
    assert_eq!(run(&bench).await.found, 1);
    let mend = "UPDATE settlements SET snapshot = snapshot - 'x' WHERE phase = 'capture'";
    below(&bench, mend).await;
    assert_eq!(reach(&bench, Reach::Incremental).await.closed, 0);
    assert_eq!(open(&bench).await.len(), 1);
    // While something is wrong the scheduler looks at everything.
    let whole = scheduled().await.unwrap();
    assert_eq!((whole.reach, whole.closed), (Reach::Full, 1));
    assert_eq!(scheduled().await.unwrap().reach, Reach::Incremental);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn rows_that_cannot_be_read_are_exceptions_and_stop_nothing(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    let damage =
        "UPDATE price_versions SET terms = jsonb_set(terms, '{components,0,price}', '\"cheap\"');
         UPDATE settlements SET amount = 0.000000001 WHERE phase = 'capture';
         UPDATE accounts SET currency = 'XXXX' WHERE kind = 'breakage';
         UPDATE balances SET balance = balance + 1 WHERE account_id = (SELECT account_id FROM accounts WHERE kind = 'breakage');
         UPDATE lots SET remaining = remaining - 1";
    below(&bench, damage).await;
    run(&bench).await;
    let found = open(&bench).await;
    let lines: Vec<_> = found
        .iter()
        .map(|one| (one.class, one.detail.as_str()))
        .collect();
    let of = |class: Class| {
        lines
            .iter()
            .find(|one| one.0 == class)
            .map(|one| one.1)
            .unwrap_or("")
    };
    assert!(
        of(Class::Price).starts_with("what is stored cannot be read: "),
        "{lines:?}"
    );
    assert!(of(Class::Price).contains("cheap"), "{lines:?}");
    assert!(
        of(Class::Content).contains("its content cannot be read"),
        "{lines:?}"
    );
    assert!(of(Class::Balance).contains("XXXX"), "{lines:?}");
    assert!(
        of(Class::Lots).starts_with("wallet "),
        "the other checks go on: {lines:?}"
    );
    let mend = "UPDATE price_versions SET terms = jsonb_set(terms, '{components,0,price}', '\"1\"');
         UPDATE settlements SET amount = (SELECT amount FROM transfers t WHERE t.settlement_id = settlements.settlement_id
             AND t.entry_type = 'capture') WHERE phase = 'capture';
         UPDATE balances SET balance = balance - 1 WHERE account_id = (SELECT account_id FROM accounts WHERE kind = 'breakage');
         UPDATE accounts SET currency = 'USD' WHERE kind = 'breakage';
         UPDATE lots SET remaining = remaining + 1";
    below(&bench, mend).await;
    let after = run(&bench).await;
    assert_eq!((after.found, after.closed), (0, found.len()));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_that_fails_is_told(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    below(&bench, "ALTER TABLE job_corrections RENAME TO elsewhere").await;
    let failed = bench.engine.reconcile(Cause::Scheduled, None, None).await;
    assert!(
        matches!(failed, Err(ReconcileError::Store(_))),
        "{failed:?}"
    );
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    assert_eq!(
        last_outcome(&mut conn).await.unwrap(),
        Some(Outcome::Failed)
    );
    below(&bench, "ALTER TABLE elsewhere RENAME TO job_corrections").await;
    // It left no position: the next begins where the one before it stood.
    let tally = reach(&bench, Reach::Incremental).await;
    assert_eq!((tally.reach, tally.found), (Reach::Incremental, 0));
    assert_eq!(
        last_outcome(&mut conn).await.unwrap(),
        Some(Outcome::InOrder)
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_run_that_died_is_abandoned_and_the_next_starts_over(pool: PgPool) {
    let (bench, _) = busy(pool).await;
    below(&bench, "UPDATE lots SET remaining = remaining - 1").await;
    let mut in_the_way = bench.owner.begin().await.unwrap();
    let lock = "LOCK TABLE lots IN ACCESS EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *in_the_way).await.unwrap();
    let engine = bench.engine.clone();
    let doomed = tokio::spawn(async move { engine.reconcile(Cause::Scheduled, None, None).await });
    until_blocked(&bench.owner).await;
    doomed.abort();
    assert!(doomed.await.unwrap_err().is_cancelled());
    in_the_way.rollback().await.unwrap();
    // Its lock goes with its connection, which the pool gives up in its own time.
    let mut next = bench.engine.reconcile(Cause::Scheduled, None, None).await;
    while matches!(next, Err(ReconcileError::Busy)) {
        tokio::task::yield_now().await;
        next = bench.engine.reconcile(Cause::Scheduled, None, None).await;
    }
    let found = next.unwrap();
    assert_eq!(
        (found.found, found.opened),
        (2, 2),
        "none of it was written before"
    );
    let outcomes: Vec<_> = history(&bench.engine)
        .await
        .iter()
        .map(|run| run.outcome)
        .collect();
    let died = [Outcome::InOrder, Outcome::Abandoned, Outcome::Exceptions];
    assert_eq!(outcomes, died);
}
