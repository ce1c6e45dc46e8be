//! Reconciliation: what is wrong is found, ages, is put right by the way that is offered, and closes itself;
//! what is right is left alone, however busy the system is.

mod people;
mod runs;

use chrono::TimeDelta;
use domain::{
    exception::{Cause, Class, Reach, State, What},
    id::OperatorId,
};
use engine::{
    books,
    exception::views::{self, Exception, Filter},
    page::Cursor,
    reconcile::Tally,
};
use sqlx::{AssertSqlSafe, PgPool};

use crate::bench::{Bench, by, corrected, failed, seal, started, succeeded};

/// Books with a bit of everything in them, all of it written after a first run, and an audit log.
async fn busy(pool: PgPool) -> (Bench, OperatorId) {
    let bench = Bench::new(pool).await;
    assert_eq!(run(&bench).await.found, 0);
    let who = bench.operator("ann").await;
    bench.grant("100", None).await;
    let jobs = [
        bench.submit(10).await,
        bench.submit(10).await,
        bench.submit(7).await,
    ];
    bench.hear(&succeeded("a", jobs[0], 4, 2)).await;
    bench.hear(&corrected("b", jobs[0], 6, 2, 3)).await;
    bench.hear(&failed("c", jobs[1], 2)).await;
    bench.hear(&started("d", jobs[2], 2)).await;
    bench.settle().await;
    bench.engine.disable_source("acme", "test").await.unwrap();
    seal(&bench, 4).await;
    (bench, who)
}

async fn run(bench: &Bench) -> Tally {
    reach(bench, Reach::Full).await
}

async fn reach(bench: &Bench, reach: Reach) -> Tally {
    let run = bench
        .engine
        .reconcile(Cause::CommandLine, Some(reach), None);
    run.await.unwrap()
}

async fn open(bench: &Bench) -> Vec<Exception> {
    let filter = Filter {
        state: Some(State::Open),
        ..Filter::default()
    };
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let page = views::list(&mut conn, &filter, Cursor::Newest).await;
    page.unwrap().rows
}

/// Does what only the owner of the database can, with the guards off.
pub async fn below(bench: &Bench, statements: &str) {
    let mut conn = bench.owner.acquire().await.unwrap();
    let off = "SET session_replication_role = replica";
    sqlx::raw_sql(AssertSqlSafe(format!("{off}; {statements}")))
        .execute(&mut *conn)
        .await
        .unwrap();
    let on = "SET session_replication_role = DEFAULT";
    sqlx::raw_sql(on).execute(&mut *conn).await.unwrap();
}

/// How what was broken is put right.
enum Mend {
    /// From the exception itself.
    Repair,
    /// By whoever may restore the rows, as the runbook says.
    Restore(&'static str),
    /// By the workers.
    Settle,
}

/// Breaks the books, and follows the exception of `class` through its life.
async fn life(pool: PgPool, class: Class, damage: &str, mend: Mend) {
    let (bench, who) = busy(pool).await;
    let report = books::verify(bench.engine.pool()).await.unwrap();
    assert!(report.in_order(), "{report:?}");
    below(&bench, damage).await;

    // All of it is new, so a run of what is new finds what a full one finds.
    // A statement that came in asks for a full one.
    let scheduled = bench.engine.reconcile(Cause::Scheduled, None, None);
    let first = scheduled.await.unwrap();
    let all_is_new = class != Class::StatedUsage;
    assert_eq!(first.reach == Reach::Incremental, all_is_new);
    let found = open(&bench).await;
    assert_eq!((first.found, first.opened), (found.len(), found.len()));
    let exception = found
        .iter()
        .find(|one| one.class == class)
        .unwrap_or_else(|| panic!("{found:?}"));
    let id = exception.id;

    bench.engine.clock().advance(TimeDelta::minutes(5));
    let second = run(&bench).await;
    // Entries that lost their settlement are not among what is new: what is new may not add up without them.
    assert_eq!(
        (second.found + second.closed, second.opened),
        (first.found, 0)
    );
    let mut conn = bench.engine.pool().acquire().await.unwrap();
    let aged = views::find(&mut conn, id).await.unwrap().unwrap();
    assert_eq!(aged.times_seen, 2);
    assert_eq!(
        aged.last_seen_at - aged.first_seen_at,
        TimeDelta::minutes(5)
    );

    match mend {
        Mend::Repair => {
            let key = bench.engine.mint();
            for _ in 0..2 {
                bench
                    .engine
                    .repair_exception(id, "as the transfers say", (key, by(who)))
                    .await
                    .unwrap();
            }
            let lines = "SELECT count(*) FROM audit_log WHERE action = 'exception.repair'";
            let lines: i64 = sqlx::query_scalar(lines)
                .fetch_one(&bench.owner)
                .await
                .unwrap();
            assert_eq!(lines, 1, "a form sent twice repairs once");
        }
        Mend::Restore(statements) => {
            assert_eq!(class.repair(), None);
            below(&bench, statements).await;
        }
        Mend::Settle => {}
    }
    bench.settle().await;
    let last = run(&bench).await;
    assert_eq!((last.found, last.closed), (0, second.found));
    let notes = views::notes(&mut conn, id).await.unwrap();
    let repairs = notes.iter().filter(|note| note.what == What::Repaired);
    assert_eq!(repairs.count(), usize::from(class.repair().is_some()));
    assert_eq!(notes.last().unwrap().what, What::Closed);

    // Broken the same way again, it is the same exception.
    below(&bench, damage).await;
    let again = run(&bench).await;
    assert_eq!((again.found, again.opened), (second.found, second.found));
    let reopened = views::find(&mut conn, id).await.unwrap().unwrap();
    assert_eq!((reopened.state, reopened.times_seen), (State::Open, 3));
}

macro_rules! lives {
    ($($name:ident: $class:ident, $damage:literal, $mend:expr;)*) => {
        $(#[sqlx::test(migrator = "engine::MIGRATOR")]
        async fn $name(pool: PgPool) {
            life(pool, Class::$class, $damage, $mend).await;
        })*

        /// A class without a life here would be a promise nobody has tried.
        #[test]
        fn every_class_has_its_life() {
            let tried = [$(Class::$class),*];
            for class in Class::ALL {
                assert!(tried.contains(class), "{class}");
            }
        }
    };
}

lives! {
    a_changed_balance: Balance,
        "UPDATE balances SET balance = balance + 1 WHERE balance < 0",
        Mend::Repair;
    a_trial_balance_that_is_off: TrialBalance,
        "UPDATE balances SET balance = balance + 1 WHERE balance < 0",
        Mend::Restore("UPDATE balances SET balance = balance - 1 WHERE balance < 0");
    an_account_of_another_mode: ModeAndWallet,
        "UPDATE accounts SET livemode = false WHERE kind = 'revenue'",
        Mend::Restore("UPDATE accounts SET livemode = true WHERE kind = 'revenue'");
    a_changed_running_balance: RunningBalances,
        "UPDATE transfers SET credit_balance = credit_balance + 1 WHERE entry_type = 'remainder'",
        Mend::Restore("UPDATE transfers SET credit_balance = credit_balance - 1 WHERE entry_type = 'remainder'");
    a_gap_between_versions: Versions,
        "UPDATE settlements SET version = 5 WHERE phase = 'adjustment'",
        Mend::Restore("UPDATE settlements SET version = 1 WHERE phase = 'adjustment'");
    a_lost_transfer: Transfers,
        "CREATE TABLE kept AS SELECT * FROM transfers WHERE entry_type = 'release';
         DELETE FROM transfers WHERE entry_type = 'release'",
        Mend::Restore("INSERT INTO transfers OVERRIDING SYSTEM VALUE SELECT * FROM kept; DROP TABLE kept");
    an_event_that_forgot_what_it_caused: SettlementEvent,
        "UPDATE events SET state = 'received', due_at = received_at, decided_at = NULL WHERE event_key = 'a'",
        Mend::Settle;
    a_changed_grant: Grant,
        "UPDATE lots SET amount = amount + 1",
        Mend::Restore("UPDATE lots SET amount = amount - 1");
    a_lost_release: HoldEnd,
        "CREATE TABLE kept AS SELECT tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency,
             livemode, amount, snapshot, content_hash, event_id, settled_at FROM settlements WHERE phase = 'release';
         DELETE FROM settlements WHERE phase = 'release'",
        Mend::Restore("INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id,
             currency, livemode, amount, snapshot, content_hash, event_id, settled_at) SELECT * FROM kept; DROP TABLE kept");
    a_job_that_counts_wrong: JobVersions,
        "UPDATE jobs SET release_version = release_version + 1 WHERE state = 'failed'",
        Mend::Restore("UPDATE jobs SET release_version = release_version - 1 WHERE state = 'failed'");
    a_changed_hold: JobCharge,
        "UPDATE jobs SET held = held + 1 WHERE state = 'running'",
        Mend::Restore("UPDATE jobs SET held = held - 1 WHERE state = 'running'");
    a_hold_without_a_live_job: JobHold,
        "ALTER TABLE jobs DROP CONSTRAINT IF EXISTS jobs_hold_only_in_flight; UPDATE jobs SET held = 1 WHERE state = 'failed'",
        Mend::Restore("UPDATE jobs SET held = 0 WHERE state = 'failed'");
    holds_that_do_not_add_up: Holds,
        "UPDATE jobs SET held = held + 1 WHERE state = 'running'",
        Mend::Restore("UPDATE jobs SET held = held - 1 WHERE state = 'running'");
    a_lost_step: JobSteps,
        "CREATE TABLE kept AS SELECT * FROM job_transitions WHERE to_state = 'running';
         DELETE FROM job_transitions WHERE to_state = 'running'",
        Mend::Restore("INSERT INTO job_transitions SELECT * FROM kept; DROP TABLE kept");
    a_correction_that_nobody_made: JobCorrections,
        "UPDATE jobs SET correction = 1, due = due - 1 WHERE due >= 1",
        Mend::Restore("UPDATE jobs SET correction = 0, due = due + 1 WHERE due >= 1");
    a_changed_lot: LotDraws,
        "UPDATE lots SET remaining = remaining - 1",
        Mend::Repair;
    lots_that_do_not_add_up: Lots,
        "UPDATE lots SET remaining = remaining - 1",
        Mend::Restore("UPDATE lots SET remaining = remaining + 1");
    a_changed_price: Price,
        "UPDATE price_versions SET terms = jsonb_set(terms, '{components,0,price}', '\"2\"')",
        Mend::Restore("UPDATE price_versions SET terms = jsonb_set(terms, '{components,0,price}', '\"1\"')");
    a_changed_snapshot: Content,
        "UPDATE settlements SET snapshot = snapshot || '{\"x\": 1}' WHERE phase = 'capture'",
        Mend::Restore("UPDATE settlements SET snapshot = snapshot - 'x' WHERE phase = 'capture'");
    a_changed_line_of_the_audit_log: Audit,
        "UPDATE audit_log SET actor = 'nobody' WHERE audit_id = 1",
        Mend::Restore("UPDATE audit_log SET actor = 'test' WHERE audit_id = 1");
    a_transfer_that_is_not_as_it_was_sealed: Seals,
        "UPDATE transfers SET posted_at = posted_at + interval '1 day' WHERE entry_type = 'release'",
        Mend::Restore("UPDATE transfers SET posted_at = posted_at - interval '1 day' WHERE entry_type = 'release'");
    an_event_that_is_stuck: EventOutcome,
        "UPDATE events SET state = 'waiting', reason = 'job_unknown', due_at = received_at - interval '2 hours', decided_at = NULL,
             attempts = 3 WHERE event_key = 'd'",
        Mend::Repair;
    a_statement_of_work_that_nobody_did: StatedUsage,
        "INSERT INTO statements (statement_id, source_id, livemode, period_from, period_to, absolute_tolerance,
             relative_tolerance, file_name, file_hash, accepted, lines, errors, uploaded_at)
         SELECT source_id, source_id, livemode, '2020-01-01', '2020-02-01', 0, 0, 'f', sha256('f'), true, 1, 0, now() FROM sources;
         INSERT INTO statement_lines (statement_id, line, identity, reference, meter, quantity)
         SELECT source_id, 1, sha256('1'), 'nobody', 'images', 1 FROM sources",
        Mend::Restore("DELETE FROM statement_groups; DELETE FROM statement_checks; DELETE FROM statement_lines;
             DELETE FROM statements");
}
