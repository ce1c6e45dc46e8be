//! Changes that a run makes.

use chrono::{DateTime, Utc};
use domain::{
    exception::{Cause, Class, Outcome, State},
    id::OperatorId,
};
use sqlx::PgConnection;

use super::Tally;
use crate::{
    books::{Break, Report},
    error::StoreError,
};

/// One run at a time: an arbitrary number of our own among PostgreSQL's advisory locks.
const LOCK: i64 = 0x5175_6974_7265_636F;

/// Takes the lock until the transaction ends; says whether it was free.
pub(super) async fn try_lock(conn: &mut PgConnection) -> Result<bool, StoreError> {
    let free = sqlx::query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "free!""#, LOCK)
        .fetch_one(conn)
        .await?;
    Ok(free)
}

/// Runs that were going on when their process died. The lock is held, so none of them goes on.
pub(super) async fn abandon(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE reconciliation_runs SET outcome = 'abandoned', finished_at = $1 WHERE outcome = 'running'",
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    cause: Cause,
    by: Option<OperatorId>,
    now: DateTime<Utc>,
) -> Result<i64, StoreError> {
    let run = sqlx::query_scalar!(
        "INSERT INTO reconciliation_runs (cause, requested_by, started_at, outcome)
         VALUES ($1, $2, $3, 'running') RETURNING run_id",
        cause.as_str(),
        by.map(|operator| operator.0),
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(run)
}

pub(super) async fn end(
    conn: &mut PgConnection,
    run: i64,
    outcome: Outcome,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE reconciliation_runs SET outcome = $2, finished_at = $3 WHERE run_id = $1",
        run,
        outcome.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn conclude(
    conn: &mut PgConnection,
    report: &Report,
    tally: Tally,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
    let outcome = match tally.found {
        0 => Outcome::InOrder,
        _ => Outcome::Exceptions,
    };
    let seen = &report.examined;
    sqlx::query!(
        "UPDATE reconciliation_runs SET outcome = $2, finished_at = $3, jobs = $4, settlements = $5, transfers = $6,
             accounts = $7, lots = $8, checks = $9, found = $10, opened = $11, closed = $12
         WHERE run_id = $1",
        tally.run,
        outcome.as_str(),
        now,
        seen.jobs,
        seen.settlements,
        seen.transfers,
        seen.accounts,
        seen.lots,
        count(report.checks.len()),
        count(tally.found),
        count(tally.opened),
        count(tally.closed),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An exception that is on record.
pub(super) struct Known {
    pub(super) id: i64,
    pub(super) class: Class,
    pub(super) subject: String,
    pub(super) state: State,
}

/// The exceptions that are open, and those of what was found.
pub(super) async fn known(
    conn: &mut PgConnection,
    found: &[Break],
) -> Result<Vec<Known>, StoreError> {
    let classes: Vec<_> = found.iter().map(|one| one.check.as_str()).collect();
    let subjects: Vec<_> = found.iter().map(|one| one.subject.as_str()).collect();
    let rows = sqlx::query!(
        "SELECT exception_id, class, subject, state FROM exceptions
         WHERE state = 'open'
            OR (class, subject) IN (SELECT * FROM unnest($1::text[], $2::text[]))
         ORDER BY exception_id FOR UPDATE",
        &classes as &[&str],
        &subjects as &[&str],
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Known {
                id: row.exception_id,
                class: (row.class.parse())
                    .map_err(|error| StoreError::inconsistent("exceptions", "class", error))?,
                subject: row.subject,
                state: (row.state.parse())
                    .map_err(|error| StoreError::inconsistent("exceptions", "state", error))?,
            })
        })
        .collect()
}

pub(super) async fn open(
    conn: &mut PgConnection,
    found: &Break,
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH opened AS (
             INSERT INTO exceptions (class, subject, tenant_id, expected, actual, currency, detail, state, first_seen_at,
                                     last_seen_at, times_seen, first_run, last_run, due_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, 'open', $8, $8, 1, $9, $9, $10) RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, at) SELECT exception_id, 'opened', $9, $8 FROM opened",
        found.check.as_str(),
        found.subject,
        found.tenant.map(|tenant| tenant.0),
        found.expected,
        found.actual,
        found.currency.map(|currency| currency.code()),
        found.line,
        now,
        run,
        now + found.check.due(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Found again: the numbers are as they are now.
pub(super) async fn age(
    conn: &mut PgConnection,
    id: i64,
    found: &Break,
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE exceptions SET expected = $2, actual = $3, currency = $4, detail = $5, last_seen_at = $6, last_run = $7,
             times_seen = times_seen + 1
         WHERE exception_id = $1",
        id,
        found.expected,
        found.actual,
        found.currency.map(|currency| currency.code()),
        found.line,
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn reopen(
    conn: &mut PgConnection,
    id: i64,
    found: &Break,
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH reopened AS (
             UPDATE exceptions SET state = 'open', closed_at = NULL, first_seen_at = $2, first_run = $3, last_seen_at = $2,
                 last_run = $3, due_at = $4, snoozed_until = NULL
             WHERE exception_id = $1 RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, at) SELECT exception_id, 'reopened', $3, $2 FROM reopened",
        id,
        now,
        run,
        now + found.check.due(),
    )
    .execute(&mut *conn)
    .await?;
    age(conn, id, found, run, now).await
}

pub(super) async fn close(
    conn: &mut PgConnection,
    id: i64,
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH closed AS (
             UPDATE exceptions SET state = 'closed', closed_at = $2, snoozed_until = NULL
             WHERE exception_id = $1 RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, text, at)
         SELECT exception_id, 'closed', $3, 'not found any more', $2 FROM closed",
        id,
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}
