//! Runs as they are read.

use chrono::{DateTime, Utc};
use domain::exception::{Cause, Outcome, Reach};
use sqlx::PgConnection;

use crate::{
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
