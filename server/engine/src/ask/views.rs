//! What is shown of questions: whether a job can be asked about, and what the provider answered.
//!
//! Cost: the newest few questions of one job, by the primary key.

use chrono::{DateTime, Utc};
use domain::{
    ask::Outcome,
    id::{EventId, JobId},
};
use sqlx::PgConnection;

use crate::error::StoreError;

/// Most questions that are shown of one job.
const SHOWN: i64 = 5;

/// A question, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Who asked.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What came of it; `None` while it is under way, or when it was lost.
    pub told: Option<Told>,
}

/// What came of a question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// In a word.
    pub outcome: Outcome,
    /// HTTP status of the answer.
    pub status: Option<i16>,
    /// The event the answer is kept as.
    pub event: Option<EventId>,
    /// When.
    pub at: DateTime<Utc>,
}

/// Whether a job's provider can be asked, and what it answered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asking {
    /// Whether the source has an answer API.
    pub has_api: bool,
    /// The newest questions, newest first.
    pub asked: Vec<Asked>,
}

/// How asking stands with one job.
///
/// # Errors
/// [`StoreError`].
pub async fn of_job(conn: &mut PgConnection, job: JobId) -> Result<Asking, StoreError> {
    let has_api = sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM jobs j JOIN answer_apis p USING (source_id)
                          WHERE j.job_id = $1 AND p.removed_at IS NULL) AS "has_api!""#,
        job.0
    )
    .fetch_one(&mut *conn)
    .await?;
    let rows = sqlx::query!(
        r#"SELECT o.name, a.asked_at, w.outcome AS "outcome?", w.status, w.event_id, w.answered_at AS "answered_at?"
           FROM jobs j JOIN asks a USING (tenant_id, job_id) JOIN operators o ON o.operator_id = a.asked_by
           LEFT JOIN ask_answers w USING (tenant_id, job_id, number)
           WHERE j.job_id = $1 ORDER BY a.number DESC LIMIT $2"#,
        job.0,
        SHOWN
    )
    .fetch_all(conn)
    .await?;
    let asked = rows.into_iter().map(|row| {
        let told = row.outcome.zip(row.answered_at);
        let told = told.map(|(outcome, at)| told_of((&outcome, row.status, row.event_id), at));
        Ok(Asked {
            by: row.name,
            at: row.asked_at,
            told: told.transpose()?,
        })
    });
    let asked = asked.collect::<Result<_, StoreError>>()?;
    Ok(Asking { has_api, asked })
}

/// Reads what came of a question.
pub(crate) fn told_of(
    (outcome, status, event): (&str, Option<i16>, Option<i64>),
    at: DateTime<Utc>,
) -> Result<Told, StoreError> {
    let outcome = outcome
        .parse()
        .map_err(|error| StoreError::inconsistent("ask_answers", "outcome", error))?;
    Ok(Told {
        outcome,
        status,
        event: event.map(EventId),
        at,
    })
}
