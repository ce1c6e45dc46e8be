//! Races, faults and crashes: interleaved on purpose, never hoped for.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::TimeDelta;
use domain::id::{EventId, JobId};
use engine::{
    books,
    settlement::{self, Claim, Patience, Prices, Setting},
    worker::{self, Checkpoint, Point, Settings, Wake, settle::Settler},
};
use futures::future::BoxFuture;
use sqlx::{AssertSqlSafe, PgPool};
use tokio_util::sync::CancellationToken;

use crate::bench::{Bench, failed, succeeded, until_blocked};

async fn with_credit(pool: PgPool, amount: &str) -> Bench {
    let bench = Bench::new(pool).await;
    bench.grant(amount, None).await;
    bench
}

async fn in_order(bench: &Bench) {
    assert_eq!(books::verify(bench.engine.pool()).await.unwrap().breaks, []);
}

async fn as_owner(bench: &Bench, statement: String) {
    sqlx::raw_sql(AssertSqlSafe(statement))
        .execute(&bench.owner)
        .await
        .unwrap();
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_second_worker_waits_for_the_job_and_finds_it_settled(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let first = bench.hear(&succeeded("e1", job, 3, 1)).await;
    let second = bench.hear(&succeeded("e2", job, 4, 2)).await;

    let prices = Prices::default();
    let setting = Setting {
        engine: &bench.engine,
        prices: &prices,
        patience: Patience::default(),
        compare: false,
    };
    let mut tx = bench.begin().await;
    let claimed = settlement::claim(&mut tx, Claim::Only(&[first]), bench.now())
        .await
        .unwrap();
    settlement::settle(&mut tx, setting, &claimed, bench.now())
        .await
        .unwrap();

    let settler = bench.settler();
    let other = tokio::spawn(async move { settler.work().await });
    until_blocked(&bench.owner).await;
    tx.commit().await.unwrap();
    assert_eq!(other.await.unwrap().unwrap(), 1);

    assert_eq!(bench.outcome(first).await, "applied");
    assert_eq!(
        bench.outcome(second).await,
        "ignored: other_completion_prevails"
    );
    assert_eq!(bench.settlements(job).await, ["reserve/1 5", "capture/1 3"]);
    in_order(&bench).await;
}

/// Makes a job forget that an event settled it, as if the job's lock had not been respected.
async fn forget(bench: &Bench, job: JobId) {
    let id = job.0;
    as_owner(
        bench,
        format!(
            "SET session_replication_role = replica;
             UPDATE jobs SET state = 'pending', settlement_state = 'reserved', held = quote, captured = 0, due = 0, receivable = 0,
                 capture_version = 0, usage_revision = NULL, usage_occurred_at = NULL, usage_hash = NULL, transition_count = 1
             WHERE job_id = '{id}';
             DELETE FROM job_transitions WHERE job_id = '{id}' AND number > 1;
             UPDATE events SET state = 'received', due_at = received_at, decided_at = NULL, reason = NULL WHERE job_id = '{id}';
             SET session_replication_role = origin;"
        ),
    )
    .await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_loser_of_a_key_with_the_same_content_takes_over_the_recorded_result(pool: PgPool) {
    let bench = with_credit(pool, "30").await;
    let (job, neighbour) = (bench.submit(5).await, bench.submit(5).await);
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    bench.settle().await;
    let (job_before, balances) = (bench.job(job).await, bench.balances().await);
    forget(&bench, job).await;
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "ignored: already_settled");
    assert_eq!(
        (bench.job(job).await, bench.balances().await),
        (job_before, balances)
    );
    let other = bench.hear(&succeeded("e2", neighbour, 1, 1)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(other).await, "applied");
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_loser_of_a_key_with_other_content_is_a_conflict_and_holds_up_nobody(pool: PgPool) {
    let bench = with_credit(pool, "30").await;
    let (job, neighbour) = (bench.submit(5).await, bench.submit(5).await);
    bench.hear(&succeeded("e1", job, 3, 1)).await;
    bench.settle().await;
    let balances = bench.balances().await;
    forget(&bench, job).await;
    sqlx::query("DELETE FROM event_payloads")
        .execute(&bench.owner)
        .await
        .unwrap();
    let different = bench.hear(&succeeded("e2", job, 4, 1)).await;
    bench.settle().await;
    assert_eq!(
        bench.outcome(different).await,
        "conflict: settled_differently"
    );
    assert_eq!(bench.balances().await, balances);
    let other = bench.hear(&succeeded("e3", neighbour, 1, 1)).await;
    bench.settle().await;
    assert_eq!(bench.outcome(other).await, "applied");
}

/// Someone else writes the key of a job's capture and has not committed.
async fn write_key(bench: &Bench, job: JobId) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut tx = bench.begin().await;
    let written = sqlx::query(
        "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency,
             livemode, amount, snapshot, content_hash, settled_at)
         SELECT tenant_id, $2, 'job', job_id, 'capture', 1, wallet_id, currency, livemode, 0, '{}', sha256('other'), $3
         FROM jobs WHERE job_id = $1",
    )
    .bind(job.0)
    .bind(bench.engine.mint())
    .bind(bench.now())
    .execute(&mut *tx)
    .await
    .unwrap();
    assert_eq!(written.rows_affected(), 1);
    tx
}

async fn race_for_the_key(pool: PgPool, winner_commits: bool) -> (Bench, JobId, EventId) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    let rival = write_key(&bench, job).await;
    let settler = bench.settler();
    let worker = tokio::spawn(async move { settler.work().await });
    until_blocked(&bench.owner).await;
    if winner_commits {
        rival.commit().await.unwrap()
    } else {
        rival.rollback().await.unwrap()
    }
    worker.await.unwrap().unwrap();
    (bench, job, event)
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_waits_for_a_rival_of_its_key_and_loses_when_it_commits(pool: PgPool) {
    let (bench, job, event) = race_for_the_key(pool, true).await;
    assert_eq!(bench.outcome(event).await, "conflict: settled_differently");
    assert_eq!(
        bench.job(job).await,
        "pending reserved held 5 captured 0 owed 0"
    );
    assert_eq!(bench.balances().await, "available 5\nfunding -10\nheld 5\n");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_worker_waits_for_a_rival_of_its_key_and_settles_when_it_gives_up(pool: PgPool) {
    let (bench, job, event) = race_for_the_key(pool, false).await;
    assert_eq!(bench.outcome(event).await, "applied");
    assert_eq!(
        bench.job(job).await,
        "completed captured held 0 captured 3 owed 0"
    );
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_poison_event_stands_alone_and_goes_through_once_it_can(pool: PgPool) {
    let bench = with_credit(pool, "1000").await;
    let mut events = Vec::new();
    for n in 0..51 {
        let job = bench.submit(2).await;
        events.push((
            job,
            bench.hear(&succeeded(&format!("e{n}"), job, 1, 1)).await,
        ));
    }
    let (victim, poison) = events.remove(20);
    as_owner(
        &bench,
        format!(
            "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF NEW.subject_id = '{}' THEN RAISE 'poisoned'; END IF;
                 RETURN NEW;
             END $$;
             CREATE TRIGGER poison BEFORE INSERT ON settlements FOR EACH ROW EXECUTE FUNCTION poison();",
            victim.0
        ),
    )
    .await;
    assert_eq!(bench.settler().work().await.unwrap(), 51);
    for (_, event) in &events {
        assert_eq!(bench.outcome(*event).await, "applied");
    }
    let outcome = bench.outcome(poison).await;
    assert!(
        outcome.starts_with("failed: ") && outcome.contains("poisoned"),
        "{outcome}"
    );
    assert_eq!(
        bench.job(victim).await,
        "pending reserved held 2 captured 0 owed 0"
    );
    in_order(&bench).await;

    as_owner(&bench, "DROP TRIGGER poison ON settlements".into()).await;
    bench.settle_after(TimeDelta::minutes(2)).await;
    assert_eq!(bench.outcome(poison).await, "applied");
    in_order(&bench).await;
}

/// Cuts the worker's connection when it is about to commit.
struct Cut(PgPool);

impl Checkpoint for Cut {
    fn reached(&self, point: Point) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if point == Point::BeforeCommit {
                sqlx::query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE datname = current_database() AND state = 'idle in transaction'",
                )
                .execute(&self.0)
                .await
                .unwrap();
            }
        })
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_commit_without_an_answer_is_looked_up_and_loses_nothing(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    let settings = Settings {
        shards: 1,
        checkpoint: Some(Arc::new(Cut(bench.owner.clone()))),
        ..Settings::default()
    };
    assert_eq!(
        Settler::new(bench.engine.clone(), settings, 0)
            .work()
            .await
            .unwrap(),
        1
    );
    assert_eq!(bench.outcome(event).await, "received");
    assert_eq!(bench.settlements(job).await, ["reserve/1 5"]);
    bench.settle().await;
    assert_eq!(bench.outcome(event).await, "applied");
    in_order(&bench).await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_fault_of_the_storage_is_no_events_fault(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let event = bench.hear(&failed("e1", job, 1)).await;
    as_owner(
        &bench,
        "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$;
         CREATE TRIGGER fault BEFORE INSERT ON settlements FOR EACH ROW EXECUTE FUNCTION fault();"
            .into(),
    )
    .await;
    assert!(bench.settler().work().await.is_err());
    assert_eq!(bench.outcome(event).await, "received");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn failing_to_claim_is_told_and_does_not_go_round(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let event = bench.hear(&failed("e1", job, 1)).await;
    as_owner(
        &bench,
        "REVOKE SELECT ON event_payloads FROM quittance_app".into(),
    )
    .await;
    let worked = tokio::time::timeout(Duration::from_secs(20), bench.settler().work()).await;
    assert!(worked.expect("it ends").is_err());
    assert_eq!(bench.outcome(event).await, "received");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_batch_is_small_while_deliveries_wait(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    for number in 0..5 {
        let job = bench.submit(1).await;
        bench.hear(&failed(&format!("e{number}"), job, 1)).await;
    }
    let waiting = Arc::new(AtomicBool::new(true));
    let settings = Settings {
        shards: 1,
        busy_batch: 2,
        busy: Arc::new({
            let waiting = waiting.clone();
            move || waiting.load(Ordering::Relaxed)
        }),
        ..Settings::default()
    };
    let settler = Settler::new(bench.engine.clone(), settings, 0);
    assert_eq!(settler.work().await.unwrap(), 2);
    waiting.store(false, Ordering::Relaxed);
    assert_eq!(settler.work().await.unwrap(), 3);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn workers_wake_up_settle_and_stop_after_their_batch(pool: PgPool) {
    let bench = with_credit(pool, "10").await;
    let job = bench.submit(5).await;
    let (wake, stop) = (Wake::default(), CancellationToken::new());
    let settings = Settings {
        poll: Duration::from_secs(60),
        ..Settings::default()
    };
    let mut workers = worker::spawn(&bench.engine, &settings, &wake, &stop);
    let event = bench.hear(&succeeded("e1", job, 3, 1)).await;
    wake.all();
    while bench.outcome(event).await != "applied" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop.cancel();
    while let Some(ended) = workers.join_next().await {
        ended.unwrap();
    }
    in_order(&bench).await;
}
