//! What the database holds about statements, whoever writes.

use sqlx::{AssertSqlSafe, PgPool};

use crate::bench::Bench;

/// Name of the constraint that refuses these statements in one transaction.
async fn refused_by(pool: &PgPool, sql: &[&str]) -> String {
    let mut tx = pool.begin().await.unwrap();
    for one in sql {
        let done = sqlx::query(AssertSqlSafe((*one).to_owned()))
            .execute(&mut *tx)
            .await;
        if let Err(sqlx::Error::Database(error)) = done {
            return error.constraint().unwrap_or(error.message()).to_owned();
        }
    }
    match tx.commit().await {
        Err(sqlx::Error::Database(error)) => error.constraint().unwrap_or_default().to_owned(),
        other => panic!("{other:?} for {sql:?}"),
    }
}

fn statement(livemode: bool, accepted: bool, lines: i32, errors: i32, to: &str) -> String {
    format!(
        "INSERT INTO statements (statement_id, source_id, livemode, period_from, period_to, absolute_tolerance,
             relative_tolerance, file_name, file_hash, accepted, lines, errors, uploaded_at)
         SELECT '00000000-0000-0000-0000-000000000001', source_id, {livemode}, '2026-11-01', '{to}', 0, 0, 'f',
             sha256('f'), {accepted}, {lines}, {errors}, now() FROM sources"
    )
}

fn line(line: i32, identity: &str, accepted: bool) -> String {
    format!(
        "INSERT INTO statement_lines (statement_id, accepted, line, identity, reference, meter, quantity)
         VALUES ('00000000-0000-0000-0000-000000000001', {accepted}, {line}, sha256('{identity}'), 'r', 'images', 1)"
    )
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_refused_statement_can_have_no_lines(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let app = bench.engine.pool();
    let refused = statement(true, false, 1, 1, "2026-12-01");
    let one = line(1, "a", true);
    let found = refused_by(app, &[&refused, &one]).await;
    assert_eq!(found, "statement_lines_accepted");
    let found = refused_by(app, &[&one]).await;
    assert_eq!(found, "statement_lines_accepted");
    let found = refused_by(app, &[&refused, &line(1, "a", false)]).await;
    assert_eq!(found, "statement_lines_accepted_check");
    for (made, constraint) in [
        (
            statement(true, true, 1, 1, "2026-12-01"),
            "statements_refused_for_errors",
        ),
        (
            statement(true, true, 0, 0, "2026-12-01"),
            "statements_say_something",
        ),
        (
            statement(true, true, 1, 0, "2026-11-01"),
            "statements_period",
        ),
        (
            statement(false, true, 1, 0, "2026-12-01"),
            "statements_source",
        ),
    ] {
        assert_eq!(refused_by(app, &[&made]).await, constraint);
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_line_counts_once_and_nothing_of_it_changes(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let app = bench.engine.pool();
    let made = statement(true, true, 1, 0, "2026-12-01");
    let twice = [&*made, &line(1, "a", true), &line(2, "a", true)];
    assert_eq!(refused_by(app, &twice).await, "statement_lines_once");
    let mut tx = app.begin().await.unwrap();
    for sql in [&made, &line(1, "a", true)] {
        let done = sqlx::query(AssertSqlSafe(sql.clone()))
            .execute(&mut *tx)
            .await;
        done.unwrap();
    }
    tx.commit().await.unwrap();
    for table in ["statements", "statement_lines", "statement_errors"] {
        let truncate = format!("TRUNCATE {table} CASCADE");
        let said = refused_by(&bench.owner, &[&truncate]).await;
        assert!(said.contains("append-only"), "{table}: {said}");
    }
    for change in [
        "UPDATE statement_lines SET quantity = 2",
        "DELETE FROM statement_lines",
        "UPDATE statements SET accepted = false",
    ] {
        let said = refused_by(&bench.owner, &[change]).await;
        assert!(said.contains("append-only"), "{change}: {said}");
    }
}
