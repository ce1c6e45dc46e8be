//! What the database itself refuses, whoever asks.

use domain::job::State;
use sqlx::{AssertSqlSafe, Executor, PgPool};

use crate::bench::{Bench, Order, succeeded};

async fn refused(pool: &PgPool, statement: &str) -> (Option<String>, Option<String>) {
    let error = pool
        .execute(AssertSqlSafe(statement))
        .await
        .expect_err(statement);
    let error = error.into_database_error().expect(statement);
    (
        error.code().map(|code| code.into_owned()),
        error.constraint().map(str::to_owned),
    )
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn history_is_append_only_for_the_owner_and_for_the_application(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let job = bench.submit(5).await;
    bench.hear(&succeeded("e1", job, 3, 1)).await;
    bench.settle().await;
    for (table, column) in [
        ("settlements", "amount"),
        ("transfers", "amount"),
        ("lot_draws", "amount"),
        ("job_transitions", "detail"),
        ("price_versions", "created_by"),
    ] {
        for statement in [
            format!("UPDATE {table} SET {column} = {column}"),
            format!("DELETE FROM {table}"),
            format!("TRUNCATE {table} CASCADE"),
        ] {
            // restrict_violation: the trigger; insufficient_privilege: the grant.
            assert_eq!(
                refused(&bench.owner, &statement).await.0.as_deref(),
                Some("23001"),
                "{statement}"
            );
            assert_eq!(
                refused(bench.engine.pool(), &statement).await.0.as_deref(),
                Some("42501"),
                "{statement}"
            );
        }
    }
    for statement in [
        "DELETE FROM balances",
        "DELETE FROM jobs",
        "DELETE FROM events",
        "DELETE FROM lots",
        "UPDATE lots SET amount = 1",
        "UPDATE balances SET floored = false",
        "UPDATE events SET canonical_hash = raw_hash",
        "UPDATE accounts SET kind = kind",
    ] {
        assert_eq!(
            refused(bench.engine.pool(), statement).await.0.as_deref(),
            Some("42501"),
            "{statement}"
        );
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn rows_that_break_an_invariant_are_refused_by_its_constraint(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    bench.submit(5).await;
    let test = domain::id::WalletId(bench.engine.mint());
    bench.open_wallet(test, false).await;
    let copy = "INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id, currency, amount, posted_at)
                SELECT tenant_id, settlement_id";
    for (statement, constraint) in [
        (format!("{copy}, 'release', debit_account_id, credit_account_id, currency, 0, posted_at FROM transfers LIMIT 1"), "transfers_positive"),
        (format!("{copy}, 'release', debit_account_id, debit_account_id, currency, 1, posted_at FROM transfers LIMIT 1"), "transfers_two_accounts"),
        (format!("{copy}, 'release', debit_account_id, credit_account_id, 'EUR', 1, posted_at FROM transfers LIMIT 1"), "transfers_debit"),
        (format!("{copy}, entry_type, debit_account_id, credit_account_id, currency, 1, posted_at FROM transfers LIMIT 1"), "transfers_pkey"),
        ("UPDATE balances SET balance = -1 WHERE floored".into(), "balances_not_overdrawn"),
        ("UPDATE lots SET remaining = amount + 1".into(), "lots_remaining"),
        ("UPDATE jobs SET state = 'failed'".into(), "jobs_hold_only_in_flight"),
        ("UPDATE jobs SET quote = quote + 1".into(), "jobs_identity"),
        ("UPDATE jobs SET captured = captured + 1".into(), "jobs_charge"),
        (
            "INSERT INTO lots (tenant_id, lot_id, wallet_id, currency, livemode, amount, remaining, note, granted_at, grant_key)
             SELECT tenant_id, gen_random_uuid(), wallet_id, currency, livemode, amount, 0, note, granted_at, grant_key FROM lots".into(),
            "lots_grant_key",
        ),
        (
            "INSERT INTO sources (source_id, slug, name, adapter, scheme, livemode, created_at)
             SELECT gen_random_uuid(), 'fal', name, adapter, 'fal-ed25519', livemode, created_at FROM sources".into(),
            "sources_account_named",
        ),
        ("UPDATE jobs SET capture_version = 2, usage_revision = 1, usage_occurred_at = submitted_at, usage_hash = request_hash".into(), "jobs_capture_needs_hold"),
        (
            "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, settled_at)
             SELECT tenant_id, gen_random_uuid(), subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, settled_at
             FROM settlements WHERE phase = 'reserve'".into(),
            "settlements_key",
        ),
        (
            "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, settled_at)
             SELECT tenant_id, gen_random_uuid(), subject_kind, subject_id, 'capture', 1, wallet_id, currency, NOT livemode, amount, snapshot, content_hash, settled_at
             FROM settlements WHERE phase = 'reserve'".into(),
            "settlements_wallet",
        ),
    ] {
        assert_eq!(refused(&bench.owner, &statement).await.1.as_deref(), Some(constraint), "{statement}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_test_event_can_never_cause_a_live_settlement(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    let job = bench.submit(5).await;
    let test = domain::id::SourceId(bench.engine.mint());
    bench.open_source(test, "acme-test", false).await;
    let event = bench.hear_from(test, &succeeded("e1", job, 3, 1)).await;
    let statement = format!(
        "INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at)
         SELECT tenant_id, gen_random_uuid(), subject_kind, subject_id, 'capture', 1, wallet_id, currency, livemode, amount, snapshot, content_hash, {}, settled_at
         FROM settlements WHERE phase = 'reserve'",
        event.0
    );
    assert_eq!(
        refused(&bench.owner, &statement).await.1.as_deref(),
        Some("settlements_event")
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_database_has_the_transition_table_of_the_domain(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.grant("10", None).await;
    bench.order(0, Order::default()).await;
    for from in State::ALL {
        for to in State::ALL.iter().filter(|to| *to != from) {
            let mut conn = bench.owner.acquire().await.unwrap();
            conn.execute("SET session_replication_role = replica")
                .await
                .unwrap();
            let set = format!(
                "UPDATE jobs SET reserve_version = 0, settlement_state = 'none', state = '{from}'"
            );
            conn.execute(AssertSqlSafe(set)).await.unwrap();
            conn.execute("SET session_replication_role = origin")
                .await
                .unwrap();
            let moved = conn
                .execute(AssertSqlSafe(format!("UPDATE jobs SET state = '{to}'")))
                .await;
            let refused = moved
                .err()
                .and_then(|error| error.into_database_error()?.constraint().map(str::to_owned));
            let expected = (!from.may_become(*to)).then(|| "jobs_transition".to_owned());
            assert_eq!(refused, expected, "{from} → {to}");
        }
    }
}
