//! Runs as they are read.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use domain::exception::{Cause, Outcome, Reach};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use crate::{
    books::Break,
    error::StoreError,
    page::{Cursor, Page},
};

/// A run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Its number.
    pub run: i64,
    /// Who wanted it.
    pub cause: Cause,
    /// How much it looked at.
    pub reach: Reach,
    /// The operator, when one did.
    pub by: Option<String>,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// What came of it.
    pub outcome: Outcome,
    /// Rows it looked at: jobs, settlements, transfers, accounts and lots.
    pub examined: Option<i64>,
    /// Truths it checked.
    pub checks: Option<i32>,
    /// Things it found wrong.
    pub found: Option<i32>,
    /// Those of them that were not wrong before.
    pub opened: Option<i32>,
    /// Exceptions it found right again.
    pub closed: Option<i32>,
}

/// A page of runs, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn runs(conn: &mut PgConnection, cursor: Cursor<i64>) -> Result<Page<Run>, StoreError> {
    let (upwards, start) = cursor.start(i64::MAX);
    let rows = sqlx::query!(
        r#"SELECT r.run_id, r.cause, r.reach, o.name AS "by?", r.started_at, r.finished_at, r.outcome,
                  r.jobs + r.settlements + r.transfers + r.accounts + r.lots AS examined,
                  r.checks, r.found, r.opened, r.closed
           FROM reconciliation_runs r LEFT JOIN operators o ON o.operator_id = r.requested_by
           WHERE CASE WHEN $1::bool THEN r.run_id > $2 ELSE r.run_id < $2 END
           ORDER BY CASE WHEN $1 THEN r.run_id ELSE -r.run_id END LIMIT $3"#,
        upwards,
        start,
        Page::<Run>::ASK,
    )
    .fetch_all(conn)
    .await?;
    let rows = rows
        .into_iter()
        .map(|row| {
            Ok(Run {
                run: row.run_id,
                cause: (row.cause.parse()).map_err(|error| {
                    StoreError::inconsistent("reconciliation_runs", "cause", error)
                })?,
                reach: (row.reach.parse()).map_err(|error| {
                    StoreError::inconsistent("reconciliation_runs", "reach", error)
                })?,
                by: row.by,
                started_at: row.started_at,
                finished_at: row.finished_at,
                outcome: (row.outcome.parse()).map_err(|error| {
                    StoreError::inconsistent("reconciliation_runs", "outcome", error)
                })?,
                examined: row.examined,
                checks: row.checks,
                found: row.found,
                opened: row.opened,
                closed: row.closed,
            })
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    Ok(Page::read(rows, &cursor))
}

/// What the newest run that ended came to.
///
/// # Errors
/// [`StoreError`].
pub async fn last_outcome(conn: &mut PgConnection) -> Result<Option<Outcome>, StoreError> {
    let word = sqlx::query_scalar!(
        "SELECT outcome FROM reconciliation_runs WHERE outcome NOT IN ('running', 'abandoned') ORDER BY run_id DESC LIMIT 1"
    )
    .fetch_optional(conn)
    .await?;
    let outcome = word.map(|word| word.parse()).transpose();
    outcome.map_err(|error| StoreError::inconsistent("reconciliation_runs", "outcome", error))
}

/// Which of the breaks, by their place, a person has accepted with these very numbers.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn accepted(
    conn: &mut PgConnection,
    found: &[Break],
) -> Result<HashSet<usize>, StoreError> {
    let (places, may): (Vec<_>, Vec<_>) = found
        .iter()
        .enumerate()
        .filter(|(_, one)| one.check.may_be_accepted())
        .unzip();
    let classes: Vec<_> = may.iter().map(|one| one.check.as_str()).collect();
    let subjects: Vec<_> = may.iter().map(|one| one.subject.as_str()).collect();
    let expected: Vec<_> = may.iter().map(|one| one.expected).collect();
    let actual: Vec<_> = may.iter().map(|one| one.actual).collect();
    let rows = sqlx::query_scalar!(
        r#"SELECT found.place AS "place!"
           FROM unnest($1::text[], $2::text[], $3::numeric[], $4::numeric[]) WITH ORDINALITY
               AS found (class, subject, expected, actual, place)
           JOIN exceptions e ON e.class = found.class AND e.subject = found.subject
           JOIN exception_acceptances a ON a.exception_id = e.exception_id
               AND a.expected IS NOT DISTINCT FROM found.expected AND a.actual IS NOT DISTINCT FROM found.actual"#,
        &classes as &[&str],
        &subjects as &[&str],
        &expected as &[Option<Decimal>],
        &actual as &[Option<Decimal>],
    )
    .fetch_all(conn)
    .await?;
    let place = |at: i64| {
        usize::try_from(at - 1)
            .ok()
            .and_then(|at| places.get(at).copied())
    };
    Ok(rows.into_iter().filter_map(place).collect())
}
