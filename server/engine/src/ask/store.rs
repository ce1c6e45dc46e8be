//! SQL of questions and what came of them.

use chrono::{DateTime, Utc};
use domain::{
    adapter::Adapter,
    ask::{Before, NotYet, Outcome},
    id::{EventId, JobId, OperatorId, SourceId, TenantId},
    job::State,
};
use sqlx::PgConnection;

use super::{Ask, AskError};
use crate::error::StoreError;

/// A job as it is asked about.
pub(super) struct Job {
    pub(super) tenant: TenantId,
    pub(super) state: State,
    pub(super) work: Option<Work>,
}

/// The work at the provider.
pub(super) struct Work {
    pub(super) source: SourceId,
    pub(super) slug: String,
    pub(super) adapter: Adapter,
    pub(super) livemode: bool,
    pub(super) body_limit_bytes: usize,
    pub(super) reference: String,
    /// Its source's deliveries are refused.
    pub(super) is_off: bool,
}

pub(super) async fn job(conn: &mut PgConnection, job: JobId) -> Result<Option<Job>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT j.tenant_id, j.state, j.provider_reference, s.source_id AS "source_id?", s.slug AS "slug?",
                  s.adapter AS "adapter?", s.livemode AS "livemode?", s.body_limit_bytes AS "body_limit_bytes?",
                  s.disabled_at
           FROM jobs j LEFT JOIN sources s USING (source_id) WHERE j.job_id = $1"#,
        job.0
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let work = match (
        row.source_id,
        row.slug,
        row.adapter,
        row.livemode,
        row.provider_reference,
    ) {
        (Some(source), Some(slug), Some(adapter), Some(livemode), Some(reference)) => Some(Work {
            source: SourceId(source),
            slug,
            adapter: adapter
                .parse()
                .map_err(|error| StoreError::inconsistent("sources", "adapter", error))?,
            livemode,
            body_limit_bytes: usize::try_from(row.body_limit_bytes.unwrap_or(0))
                .map_err(|error| StoreError::inconsistent("sources", "body_limit_bytes", error))?,
            reference,
            is_off: row.disabled_at.is_some(),
        }),
        _ => None,
    };
    let state = row.state.parse();
    Ok(Some(Job {
        tenant: TenantId(row.tenant_id),
        state: state.map_err(|error| StoreError::inconsistent("jobs", "state", error))?,
        work,
    }))
}

/// The newest question about a job.
pub(super) async fn before(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
) -> Result<Option<Before>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT a.number, a.asked_at, w.number IS NOT NULL AS "answered!"
           FROM asks a LEFT JOIN ask_answers w USING (tenant_id, job_id, number)
           WHERE a.tenant_id = $1 AND a.job_id = $2 ORDER BY a.number DESC LIMIT 1"#,
        tenant.0,
        job.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Before {
        number: row.number,
        asked_at: row.asked_at,
        answered: row.answered,
    }))
}

/// The constraints decide between two who ask at once.
pub(super) async fn insert(
    conn: &mut PgConnection,
    ask: &Ask,
    by: OperatorId,
    now: DateTime<Utc>,
) -> Result<(), AskError> {
    let inserted = sqlx::query!(
        "INSERT INTO asks (tenant_id, job_id, number, source_id, asked_by, asked_at) VALUES ($1, $2, $3, $4, $5, $6)",
        ask.tenant.0,
        ask.job.0,
        ask.number,
        ask.source.0,
        by.0,
        now
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match inserted {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("asks_pkey") => Err(NotYet::UnderWay.into()),
        Err(error) if error.constraint() == Some("asks_take_turns") => Err(NotYet::TooSoon.into()),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn insert_answer(
    conn: &mut PgConnection,
    ask: &Ask,
    (outcome, status): (Outcome, Option<u16>),
    kept: Option<EventId>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO ask_answers (tenant_id, job_id, number, outcome, status, event_id, livemode, answered_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        ask.tenant.0,
        ask.job.0,
        ask.number,
        outcome.as_str(),
        status.and_then(|status| i16::try_from(status).ok()),
        kept.map(|event| event.0),
        ask.livemode,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}
