//! Verifying the books: silent when they are in order, and every kind of damage has a line.

use std::{collections::BTreeSet, time::Duration};

use chrono::TimeDelta;
use engine::{
    books::{self, Report},
    database,
};
use sqlx::PgPool;

use crate::bench::{Bench, corrected, failed, started, succeeded};

/// Books with a bit of everything in them.
async fn busy(pool: PgPool) -> Bench {
    let bench = Bench::new(pool).await;
    bench
        .grant("20", Some(bench.now() + TimeDelta::days(1)))
        .await;
    bench.grant("80", None).await;
    sqlx::query("UPDATE tenants SET overage = 'charge'")
        .execute(&bench.owner)
        .await
        .unwrap();
    let jobs = [
        bench.submit(10).await,
        bench.submit(10).await,
        bench.submit(10).await,
        bench.submit(7).await,
    ];
    bench.hear(&succeeded("a", jobs[0], 4, 2)).await;
    bench.hear(&corrected("b", jobs[0], 6, 2, 3)).await;
    bench.hear(&failed("c", jobs[1], 2)).await;
    bench.hear(&succeeded("d", jobs[1], 12, 3)).await;
    bench.hear(&failed("e", jobs[2], 2)).await;
    bench.hear(&started("f", jobs[3], 2)).await;
    bench.settle().await;
    bench
}

async fn verify(bench: &Bench) -> Report {
    books::verify(bench.engine.pool()).await.unwrap()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn books_in_order_have_no_breaks(pool: PgPool) {
    let bench = busy(pool).await;
    let report = verify(&bench).await;
    assert_eq!(report.breaks, []);
    assert!(
        report.examined.transfers > 10 && report.examined.jobs == 4,
        "{:?}",
        report.examined
    );
}

/// Damages the books as only their owner can, with the guards off, and expects the checks to tell.
async fn damage(pool: PgPool, statement: &str, expected: &[&str]) {
    let bench = busy(pool).await;
    let mut conn = bench.owner.acquire().await.unwrap();
    sqlx::query("SET session_replication_role = replica")
        .execute(&mut *conn)
        .await
        .unwrap();
    let done = sqlx::query(sqlx::AssertSqlSafe(statement))
        .execute(&mut *conn)
        .await
        .unwrap();
    assert!(done.rows_affected() > 0, "{statement}");
    assert_eq!(classes(&verify(&bench).await), expected, "{statement}");
    let money = [
        "balance_is_the_sum_of_its_transfers",
        "trial_balance_is_zero",
    ];
    let expected: Vec<_> = expected
        .iter()
        .copied()
        .filter(|class| money.contains(class))
        .collect();
    let balances = books::verify_balances(bench.engine.pool()).await.unwrap();
    assert_eq!(classes(&balances), expected, "{statement}");
}

/// What was found, each class once.
fn classes(report: &Report) -> Vec<&str> {
    let found: BTreeSet<_> = report.breaks.iter().map(|one| one.check.as_str()).collect();
    found.into_iter().collect()
}

/// Waits until the books are being read, and the second connection is waited for.
async fn until_read(bench: &Bench) {
    let reads = "SELECT EXISTS (SELECT FROM pg_stat_activity
                 WHERE datname = current_database() AND state = 'idle in transaction' AND query LIKE '%FROM lots)%')";
    let awaited = async {
        let looks = || sqlx::query_scalar::<_, bool>(reads).fetch_one(&bench.owner);
        while !looks().await.unwrap() {}
    };
    tokio::time::timeout(Duration::from_secs(30), awaited)
        .await
        .expect("the books were never read");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_hashed_is_of_the_instant_that_is_added_up(pool: PgPool) {
    let bench = busy(pool).await;
    let two = database::connect(&bench.owner.connect_options(), 2)
        .await
        .unwrap();
    let held = two.acquire().await.unwrap();
    let damaged = async {
        until_read(&bench).await;
        let damage = "SET session_replication_role = replica;
                      UPDATE settlements SET snapshot = snapshot || '{\"x\": 1}' WHERE phase = 'capture'";
        sqlx::raw_sql(damage).execute(&bench.owner).await.unwrap();
        drop(held);
    };
    let (report, ()) = tokio::join!(books::verify(&two), damaged);
    assert_eq!(report.unwrap().breaks, []);
    assert_eq!(classes(&verify(&bench).await), ["content_hash"]);
}

macro_rules! damages {
    ($($name:ident: $statement:literal => $expected:expr;)*) => {
        $(#[sqlx::test(migrator = "engine::MIGRATOR")]
        async fn $name(pool: PgPool) {
            damage(pool, $statement, &$expected).await;
        })*
    };
}

damages! {
    a_changed_balance_is_found:
        "UPDATE balances SET balance = balance + 1 WHERE balance < 0"
        => ["balance_is_the_sum_of_its_transfers", "trial_balance_is_zero"];
    a_changed_transfer_is_found:
        "UPDATE transfers SET amount = amount + 1 WHERE entry_type = 'remainder'"
        => ["a_job_is_what_its_transfers_moved", "balance_is_the_sum_of_its_transfers", "content_hash", "running_balances_form_a_chain"];
    a_lost_settlement_is_found:
        "DELETE FROM settlements WHERE phase = 'release'"
        => ["a_hold_ends_once", "a_job_is_what_its_transfers_moved", "a_job_knows_its_settlements"];
    a_second_capture_is_found:
        "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at)
         SELECT tenant_id, gen_random_uuid(), subject_kind, subject_id, phase, 3, wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at
         FROM settlements WHERE phase = 'capture'"
        => ["a_hold_ends_once", "a_job_knows_its_settlements", "an_amount_has_transfers", "content_hash", "versions_have_no_gaps"];
    a_changed_snapshot_is_found:
        "UPDATE settlements SET snapshot = snapshot || '{\"x\": 1}' WHERE phase = 'capture'" => ["content_hash"];
    a_changed_hold_is_found:
        "UPDATE jobs SET held = held + 1 WHERE state = 'running'"
        => ["a_job_is_what_its_transfers_moved", "held_is_the_sum_of_the_jobs"];
    a_changed_lot_is_found:
        "UPDATE lots SET remaining = remaining - 1 WHERE remaining > 1"
        => ["a_lot_is_what_its_draws_left", "available_is_the_sum_of_the_lots"];
    a_lost_step_is_found:
        "DELETE FROM job_transitions WHERE to_state = 'running'" => ["a_job_took_its_steps"];
    a_changed_price_is_found:
        "UPDATE price_versions SET terms = jsonb_set(terms, '{components,0,price}', '\"2\"')"
        => ["a_price_is_as_it_was_frozen"];
    a_correction_that_is_not_noted_is_found:
        "UPDATE jobs SET correction = correction + 1, due = due - 1 WHERE due >= 1"
        => ["a_job_is_corrected_as_noted"];
    an_event_that_forgot_what_it_caused_is_found:
        "UPDATE events SET state = 'received', due_at = received_at, decided_at = NULL WHERE event_key = 'a'"
        => ["a_settlement_has_its_event"];
}
