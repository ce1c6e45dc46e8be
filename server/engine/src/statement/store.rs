//! Changes of statements and of what their checks came to.

mod matches;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{JobId, MatchId, OperatorId, SourceId, StatementId, TenantId},
    statement::{About, Outcome},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

pub(super) use self::matches::{
    Match, counts, insert_match, insert_parts, insert_undo, is_known, is_undone, lone,
    source_of_match,
};
use super::{
    NewStatement, Problem,
    check::Tally,
    read::{Numbered, Reading},
};
use crate::error::StoreError;

pub(super) async fn source(
    conn: &mut PgConnection,
    slug: &str,
) -> Result<Option<(SourceId, bool)>, StoreError> {
    let row = sqlx::query!(
        "SELECT source_id, livemode FROM sources WHERE slug = $1",
        slug
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (SourceId(row.source_id), row.livemode)))
}

/// Takes the lock of a key until the transaction ends: a form that is sent twice at once waits for itself.
pub(super) async fn lock_key(conn: &mut PgConnection, key: StatementId) -> Result<(), StoreError> {
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))",
        key.to_string(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The hash of the file that was stored under a key.
pub(super) async fn hash_of(
    conn: &mut PgConnection,
    key: StatementId,
) -> Result<Option<Hash>, StoreError> {
    let hash = sqlx::query_scalar!(
        "SELECT file_hash FROM statements WHERE statement_id = $1",
        key.0
    )
    .fetch_optional(conn)
    .await?;
    hash.map(|bytes| {
        Hash::try_from(bytes).map_err(|bytes| {
            StoreError::inconsistent("statements", "file_hash", hex::encode(bytes))
        })
    })
    .transpose()
}

/// Inserts lines that are not there yet, and tells which.
pub(super) async fn insert_lines(
    conn: &mut PgConnection,
    statement: StatementId,
    batch: &[Numbered],
) -> Result<Vec<i64>, StoreError> {
    let lines: Vec<i64> = batch.iter().map(|(at, _)| *at).collect();
    let identities: Vec<Vec<u8>> = batch
        .iter()
        .map(|(_, line)| line.identity().0.to_vec())
        .collect();
    let reference = |about: &'_ About| match about {
        About::Reference(reference) => Some(reference.clone()),
        About::Job(_) => None,
    };
    let references: Vec<Option<String>> = batch
        .iter()
        .map(|(_, line)| reference(&line.about))
        .collect();
    let jobs: Vec<Option<Uuid>> = batch
        .iter()
        .map(|(_, line)| match line.about {
            About::Job(job) => Some(job.0),
            About::Reference(_) => None,
        })
        .collect();
    let meters: Vec<&str> = batch.iter().map(|(_, line)| line.meter.as_str()).collect();
    let quantities: Vec<Decimal> = batch.iter().map(|(_, line)| line.quantity).collect();
    let amounts: Vec<Option<Decimal>> = batch
        .iter()
        .map(|(_, line)| line.amount.map(|(amount, _)| amount))
        .collect();
    let currencies: Vec<Option<&str>> = batch
        .iter()
        .map(|(_, line)| line.amount.map(|(_, currency)| currency.code()))
        .collect();
    let times: Vec<Option<DateTime<Utc>>> =
        batch.iter().map(|(_, line)| line.occurred_at).collect();
    let inserted = sqlx::query_scalar!(
        "INSERT INTO statement_lines (statement_id, line, identity, reference, job_id, meter, quantity, amount, currency,
             occurred_at)
         SELECT $1, * FROM unnest($2::bigint[], $3::bytea[], $4::text[], $5::uuid[], $6::text[], $7::numeric[],
             $8::numeric[], $9::text[], $10::timestamptz[])
         ON CONFLICT ON CONSTRAINT statement_lines_once DO NOTHING
         RETURNING line",
        statement.0,
        &lines,
        &identities,
        &references as &[Option<String>],
        &jobs as &[Option<Uuid>],
        &meters as &[&str],
        &quantities,
        &amounts as &[Option<Decimal>],
        &currencies as &[Option<&str>],
        &times as &[Option<DateTime<Utc>>],
    )
    .fetch_all(conn)
    .await?;
    Ok(inserted)
}

/// Where the line of an identity stands.
pub(super) async fn line_of(
    conn: &mut PgConnection,
    statement: StatementId,
    identity: Hash,
) -> Result<Option<i64>, StoreError> {
    let line = sqlx::query_scalar!(
        "SELECT line FROM statement_lines WHERE statement_id = $1 AND identity = $2",
        statement.0,
        identity.0.as_slice(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(line)
}

/// A statement as it is stored.
pub(super) struct Row<'a> {
    pub(super) source: SourceId,
    pub(super) new: &'a NewStatement,
    pub(super) file_name: &'a str,
    pub(super) reading: &'a Reading,
    pub(super) by: Option<OperatorId>,
    pub(super) at: DateTime<Utc>,
}

/// Inserts a statement; says whether its file was not known on these terms.
pub(super) async fn insert(conn: &mut PgConnection, row: &Row<'_>) -> Result<bool, StoreError> {
    let (new, reading) = (row.new, row.reading);
    let done = sqlx::query!(
        "INSERT INTO statements (statement_id, source_id, livemode, period_from, period_to, absolute_tolerance,
             relative_tolerance, file_name, file_hash, accepted, lines, errors, uploaded_by, uploaded_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         ON CONFLICT ON CONSTRAINT statements_once DO NOTHING",
        new.key.0,
        row.source.0,
        new.livemode,
        new.period.from(),
        new.period.to(),
        new.tolerance.absolute(),
        new.tolerance.relative(),
        row.file_name,
        reading.hash.0.as_slice(),
        reading.problems.count == 0,
        reading.lines,
        reading.problems.count,
        row.by.map(|operator| operator.0),
        row.at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The statement of the same file on the same terms.
pub(super) async fn same(
    conn: &mut PgConnection,
    row: &Row<'_>,
) -> Result<StatementId, StoreError> {
    let new = row.new;
    let id = sqlx::query_scalar!(
        "SELECT statement_id FROM statements
         WHERE source_id = $1 AND file_hash = $2 AND period_from = $3 AND period_to = $4 AND absolute_tolerance = $5
           AND relative_tolerance = $6",
        row.source.0,
        row.reading.hash.0.as_slice(),
        new.period.from(),
        new.period.to(),
        new.tolerance.absolute(),
        new.tolerance.relative(),
    )
    .fetch_one(conn)
    .await?;
    Ok(StatementId(id))
}

pub(super) async fn insert_errors(
    conn: &mut PgConnection,
    statement: StatementId,
    errors: &[Problem],
) -> Result<(), StoreError> {
    let lines: Vec<i64> = errors.iter().map(|error| error.line).collect();
    let fields: Vec<Option<&str>> = errors
        .iter()
        .map(|error| error.field.map(|field| field.as_str()))
        .collect();
    let problems: Vec<&str> = errors.iter().map(|error| error.problem.as_str()).collect();
    sqlx::query!(
        "INSERT INTO statement_errors (statement_id, position, line, field, problem)
         SELECT $1, position, line, field, problem
         FROM unnest($2::bigint[], $3::text[], $4::text[]) WITH ORDINALITY AS told (line, field, problem, position)",
        statement.0,
        &lines,
        &fields as &[Option<&str>],
        &problems as &[&str],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A group as it is kept.
pub(super) struct Kept {
    pub(super) reference: String,
    pub(super) meter: String,
    pub(super) outcome: Outcome,
    pub(super) ours: Option<Decimal>,
    pub(super) theirs: Option<Decimal>,
    pub(super) job: Option<(TenantId, JobId)>,
    pub(super) part_of: Option<MatchId>,
}

/// Forgets the groups of a statement.
pub(super) async fn forget_groups(
    conn: &mut PgConnection,
    statement: StatementId,
) -> Result<(), StoreError> {
    sqlx::query!(
        "DELETE FROM statement_groups WHERE statement_id = $1",
        statement.0
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps groups, the first of them at the place after `before`.
pub(super) async fn keep_groups(
    conn: &mut PgConnection,
    statement: StatementId,
    before: i64,
    groups: &[Kept],
) -> Result<(), StoreError> {
    let references: Vec<&str> = groups.iter().map(|one| one.reference.as_str()).collect();
    let meters: Vec<&str> = groups.iter().map(|one| one.meter.as_str()).collect();
    let outcomes: Vec<&str> = groups.iter().map(|one| one.outcome.as_str()).collect();
    let ours: Vec<Option<Decimal>> = groups.iter().map(|one| one.ours).collect();
    let theirs: Vec<Option<Decimal>> = groups.iter().map(|one| one.theirs).collect();
    let matches: Vec<Option<Uuid>> = groups
        .iter()
        .map(|one| one.part_of.map(|id| id.0))
        .collect();
    let job = |one: &Kept| one.job.map(|(tenant, job)| (tenant.0, job.0)).unzip();
    let (tenants, jobs): (Vec<Option<Uuid>>, Vec<Option<Uuid>>) = groups.iter().map(job).unzip();
    sqlx::query!(
        "INSERT INTO statement_groups (statement_id, position, reference, meter, outcome, ours, theirs, job_tenant_id, job_id,
             match_id)
         SELECT $1, $2 + position, reference, meter, outcome, ours, theirs, tenant, job, match
         FROM unnest($3::text[], $4::text[], $5::text[], $6::numeric[], $7::numeric[], $8::uuid[], $9::uuid[], $10::uuid[])
             WITH ORDINALITY AS told (reference, meter, outcome, ours, theirs, tenant, job, match, position)",
        statement.0,
        before,
        &references as &[&str],
        &meters as &[&str],
        &outcomes as &[&str],
        &ours as &[Option<Decimal>],
        &theirs as &[Option<Decimal>],
        &tenants as &[Option<Uuid>],
        &jobs as &[Option<Uuid>],
        &matches as &[Option<Uuid>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Keeps how many groups came to which outcome.
pub(super) async fn keep_tally(
    conn: &mut PgConnection,
    statement: StatementId,
    tally: &Tally,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO statement_checks (statement_id, checked_at, matched, within_tolerance, differs, missing_with_us,
             missing_with_provider, timing)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT ON CONSTRAINT statement_checks_pkey DO UPDATE
         SET checked_at = excluded.checked_at, matched = excluded.matched, within_tolerance = excluded.within_tolerance,
             differs = excluded.differs, missing_with_us = excluded.missing_with_us,
             missing_with_provider = excluded.missing_with_provider, timing = excluded.timing",
        statement.0,
        at,
        tally.of(Outcome::Matched),
        tally.of(Outcome::WithinTolerance),
        tally.of(Outcome::Differs),
        tally.of(Outcome::MissingWithUs),
        tally.of(Outcome::MissingWithProvider),
        tally.of(Outcome::Timing),
    )
    .execute(conn)
    .await?;
    Ok(())
}
