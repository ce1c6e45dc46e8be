//! Changes that a run makes.

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    exception::{Cause, Class, Outcome, Reach, State},
    id::OperatorId,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use super::Tally;
use crate::{
    audit::views::Head,
    books::{Break, Position, Report},
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

/// What runs before came to.
pub(super) struct Before {
    /// Where the newest that was finished stood.
    pub(super) position: Option<Position>,
    /// When the newest full one began.
    pub(super) full_at: Option<DateTime<Utc>>,
    /// Whether something asks for a full one: an exception that no other closes, or a statement or match that none has seen.
    pub(super) full_is_asked_for: bool,
}

pub(super) async fn before(conn: &mut PgConnection) -> Result<Before, StoreError> {
    let row = sqlx::query!(
        r#"SELECT newest.horizon AS "horizon?", newest.audit_number, newest.audit_hash, whole.full_at,
                  EXISTS (SELECT FROM exceptions WHERE state = 'open' AND class <> ALL ($1))
                      OR EXISTS (SELECT FROM statements WHERE accepted AND uploaded_at >= whole.full_at)
                      OR EXISTS (SELECT FROM statement_matches WHERE matched_at >= whole.full_at)
                      OR EXISTS (SELECT FROM statement_match_undos WHERE undone_at >= whole.full_at) AS "full_is_asked_for!"
           FROM (SELECT max(started_at) AS full_at FROM reconciliation_runs WHERE reach = 'full' AND horizon IS NOT NULL) AS whole
           LEFT JOIN LATERAL (
               SELECT horizon, audit_number, audit_hash FROM reconciliation_runs WHERE horizon IS NOT NULL
               ORDER BY run_id DESC LIMIT 1) AS newest ON true"#,
        &always_seen() as &[&str],
    )
    .fetch_one(conn)
    .await?;
    let audit = match row.audit_number.zip(row.audit_hash) {
        Some((number, hash)) => Head {
            number,
            hash: Hash::try_from(hash).map_err(|_| {
                StoreError::inconsistent("reconciliation_runs", "audit_hash", "a hash has 32 bytes")
            })?,
        },
        None => Head::GENESIS,
    };
    Ok(Before {
        position: row.horizon.map(|horizon| Position { horizon, audit }),
        full_at: row.full_at,
        full_is_asked_for: row.full_is_asked_for,
    })
}

/// Classes that an incremental run closes as well.
fn always_seen() -> Vec<&'static str> {
    let all = Class::ALL.iter();
    all.filter(|class| class.is_looked_for_everywhere(Reach::Incremental))
        .map(|class| class.as_str())
        .collect()
}

/// Adds to the marks what was written since `from` by transactions before `until`: they have ended, so it
/// is the same for every snapshot from now on.
pub(super) async fn mark(
    conn: &mut PgConnection,
    run: i64,
    from: Option<i64>,
    until: i64,
) -> Result<(), StoreError> {
    sqlx::raw_sql("SET LOCAL plan_cache_mode = force_custom_plan")
        .execute(&mut *conn)
        .await?;
    sqlx::query!(
        "WITH fresh AS MATERIALIZED (
             SELECT tenant_id, settlement_id FROM settlements WHERE ($2::bigint IS NULL OR written_in >= $2) AND written_in < $3),
         moved AS (
             SELECT t.* FROM fresh JOIN transfers t USING (tenant_id, settlement_id) WHERE $2 IS NULL
             UNION ALL
             SELECT t.* FROM fresh CROSS JOIN LATERAL (
                 SELECT * FROM transfers t WHERE t.tenant_id = fresh.tenant_id AND t.settlement_id = fresh.settlement_id OFFSET 0) AS t
             WHERE $2 IS NOT NULL),
         drawn AS (
             SELECT d.* FROM fresh JOIN lot_draws d USING (tenant_id, settlement_id) WHERE $2 IS NULL
             UNION ALL
             SELECT d.* FROM fresh CROSS JOIN LATERAL (
                 SELECT * FROM lot_draws d WHERE d.tenant_id = fresh.tenant_id AND d.settlement_id = fresh.settlement_id OFFSET 0) AS d
             WHERE $2 IS NOT NULL),
         entries AS (
             SELECT t.tenant_id, 'account' AS kind, t.debit_account_id AS id, -t.amount AS change FROM moved t
             JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.debit_account_id AND a.wallet_id IS NULL
             UNION ALL
             SELECT t.tenant_id, 'account', t.credit_account_id, t.amount FROM moved t
             JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.credit_account_id AND a.wallet_id IS NULL
             UNION ALL
             SELECT d.tenant_id, 'lot', d.lot_id, CASE d.direction WHEN 'draw' THEN -d.amount ELSE d.amount END FROM drawn d)
         INSERT INTO reconciliation_marks AS m (tenant_id, subject_kind, subject_id, total, entries, run_id)
         SELECT tenant_id, kind, id, sum(change), count(*), $1 FROM entries GROUP BY 1, 2, 3
         ON CONFLICT ON CONSTRAINT reconciliation_marks_pkey DO UPDATE
         SET total = excluded.total + CASE WHEN $2::bigint IS NULL THEN 0 ELSE m.total END,
             entries = excluded.entries + CASE WHEN $2::bigint IS NULL THEN 0 ELSE m.entries END,
             run_id = excluded.run_id",
        run,
        from,
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn count_open(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let count =
        sqlx::query_scalar!(r#"SELECT count(*) AS "count!" FROM exceptions WHERE state = 'open'"#)
            .fetch_one(conn)
            .await?;
    Ok(count)
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    cause: Cause,
    reach: Reach,
    by: Option<OperatorId>,
    now: DateTime<Utc>,
) -> Result<i64, StoreError> {
    let run = sqlx::query_scalar!(
        "INSERT INTO reconciliation_runs (cause, reach, requested_by, started_at, outcome)
         VALUES ($1, $2, $3, $4, 'running') RETURNING run_id",
        cause.as_str(),
        reach.as_str(),
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
    tally: &Tally,
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
             accounts = $7, lots = $8, checks = $9, found = $10, opened = $11, closed = $12, horizon = $13,
             audit_number = $14, audit_hash = $15
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
        report.horizon,
        report.audit_head.map(|head| head.number),
        report.audit_head.map(|head| head.hash.0.to_vec()),
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
    found: impl Iterator<Item = &Break>,
) -> Result<Vec<Known>, StoreError> {
    let (classes, subjects): (Vec<_>, Vec<_>) = found
        .map(|one| (one.check.as_str(), one.subject.as_str()))
        .unzip();
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

/// Opens an exception for each break.
pub(super) async fn open(
    conn: &mut PgConnection,
    found: &[&Break],
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let of = Columns::of(found.iter().copied());
    let due: Vec<_> = found.iter().map(|one| now + one.check.due()).collect();
    sqlx::query!(
        "WITH opened AS (
             INSERT INTO exceptions (class, subject, tenant_id, expected, actual, currency, detail, state, first_seen_at,
                                     last_seen_at, times_seen, first_run, last_run, due_at)
             SELECT class, subject, tenant_id, expected, actual, currency, detail, 'open', $9, $9, 1, $10, $10, due_at
             FROM unnest($1::text[], $2::text[], $3::uuid[], $4::numeric[], $5::numeric[], $6::text[], $7::text[],
                 $8::timestamptz[]) AS found (class, subject, tenant_id, expected, actual, currency, detail, due_at)
             RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, at)
         SELECT exception_id, 'opened', $10, $9 FROM opened ORDER BY exception_id",
        &of.classes as &[&str],
        &of.subjects as &[&str],
        &of.tenants as &[Option<Uuid>],
        &of.expected as &[Option<Decimal>],
        &of.actual as &[Option<Decimal>],
        &of.currencies as &[Option<&str>],
        &of.details as &[&str],
        &due,
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Found again: the numbers are as they are now.
pub(super) async fn age(
    conn: &mut PgConnection,
    found: &[(i64, &Break)],
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    let of = Columns::of(found.iter().map(|(_, one)| *one));
    sqlx::query!(
        "UPDATE exceptions SET expected = found.expected, actual = found.actual, currency = found.currency,
             detail = found.detail, last_seen_at = $6, last_run = $7, times_seen = times_seen + 1
         FROM unnest($1::bigint[], $2::numeric[], $3::numeric[], $4::text[], $5::text[])
             AS found (id, expected, actual, currency, detail)
         WHERE exception_id = found.id",
        &ids,
        &of.expected as &[Option<Decimal>],
        &of.actual as &[Option<Decimal>],
        &of.currencies as &[Option<&str>],
        &of.details as &[&str],
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Found again after it was right; [`age`] writes the numbers.
pub(super) async fn reopen(
    conn: &mut PgConnection,
    found: &[(i64, &Break)],
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let ids: Vec<_> = found.iter().map(|(id, _)| *id).collect();
    let due: Vec<_> = found.iter().map(|(_, one)| now + one.check.due()).collect();
    sqlx::query!(
        "WITH reopened AS (
             UPDATE exceptions SET state = 'open', closed_at = NULL, first_seen_at = $3, first_run = $4, last_seen_at = $3,
                 last_run = $4, due_at = found.due_at, snoozed_until = NULL
             FROM unnest($1::bigint[], $2::timestamptz[]) AS found (id, due_at)
             WHERE exception_id = found.id RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, at) SELECT exception_id, 'reopened', $4, $3 FROM reopened",
        &ids,
        &due,
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn close(
    conn: &mut PgConnection,
    ids: &[i64],
    run: i64,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "WITH closed AS (
             UPDATE exceptions SET state = 'closed', closed_at = $2, snoozed_until = NULL
             WHERE exception_id = ANY ($1) RETURNING exception_id)
         INSERT INTO exception_notes (exception_id, what, run_id, text, at)
         SELECT exception_id, 'closed', $3, 'not found any more', $2 FROM closed",
        ids,
        now,
        run,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Breaks, a column each.
#[derive(Default)]
struct Columns<'a> {
    classes: Vec<&'a str>,
    subjects: Vec<&'a str>,
    tenants: Vec<Option<Uuid>>,
    expected: Vec<Option<Decimal>>,
    actual: Vec<Option<Decimal>>,
    currencies: Vec<Option<&'a str>>,
    details: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    fn of(found: impl Iterator<Item = &'a Break>) -> Self {
        let mut columns = Self::default();
        for one in found {
            columns.classes.push(one.check.as_str());
            columns.subjects.push(&one.subject);
            columns.tenants.push(one.tenant.map(|tenant| tenant.0));
            columns.expected.push(one.expected);
            columns.actual.push(one.actual);
            let currency = one.currency.map(|currency| currency.code());
            columns.currencies.push(currency);
            columns.details.push(&one.line);
        }
        columns
    }
}
