//! Changes that follow from decisions on cases.

use chrono::{DateTime, Utc};
use domain::{
    event::{CaseDecision, EventState, IgnoreReason},
    id::{EventId, JobId, OperatorId},
};
use sqlx::PgConnection;

use crate::error::StoreError;

/// An event under lock.
pub(super) struct Open {
    pub(super) livemode: bool,
    pub(super) state: EventState,
}

/// Takes an event's lock, if there is one.
pub(super) async fn lock(
    conn: &mut PgConnection,
    event: EventId,
) -> Result<Option<Open>, StoreError> {
    let row = sqlx::query!(
        "SELECT livemode, state FROM events WHERE event_id = $1 FOR UPDATE",
        event.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        let state = row
            .state
            .parse()
            .map_err(|error| StoreError::inconsistent("events", "state", error))?;
        Ok(Open {
            livemode: row.livemode,
            state,
        })
    })
    .transpose()
}

pub(super) async fn is_conflict_of(
    conn: &mut PgConnection,
    event: EventId,
    conflict: i64,
) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        "SELECT conflict_id FROM conflicts WHERE conflict_id = $1 AND event_id = $2",
        conflict,
        event.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.is_some())
}

/// A decision to be written.
pub(super) struct Decided<'a> {
    pub(super) event: EventId,
    pub(super) livemode: bool,
    pub(super) conflict: Option<i64>,
    pub(super) decision: CaseDecision,
    pub(super) reason: &'a str,
    pub(super) by: OperatorId,
    pub(super) at: DateTime<Utc>,
}

/// Writes a decision; says whether it is the first on its conflict.
pub(super) async fn insert(
    conn: &mut PgConnection,
    decided: &Decided<'_>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO case_decisions (event_id, livemode, conflict_id, decision, reason, decided_by, decided_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT ON CONSTRAINT case_decisions_conflict_once DO NOTHING",
        decided.event.0,
        decided.livemode,
        decided.conflict,
        decided.decision.as_str(),
        decided.reason,
        decided.by.0,
        decided.at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The event changes nothing.
pub(super) async fn dismiss(
    conn: &mut PgConnection,
    event: EventId,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE events SET state = 'ignored', reason = $2, due_at = NULL, decided_at = $3 WHERE event_id = $1",
        event.0,
        IgnoreReason::Dismissed.as_str(),
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The event is due again, as if it had just come.
pub(super) async fn replay(
    conn: &mut PgConnection,
    event: EventId,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE events SET state = 'received', reason = NULL, attempts = 0, due_at = $2, decided_at = NULL
         WHERE event_id = $1",
        event.0,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The event of a conflict, and its job.
pub(super) async fn event_of(
    conn: &mut PgConnection,
    conflict: i64,
) -> Result<Option<(EventId, Option<JobId>)>, StoreError> {
    let row = sqlx::query!(
        "SELECT e.event_id, e.job_id FROM conflicts c JOIN events e USING (event_id, livemode)
         WHERE c.conflict_id = $1",
        conflict,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (EventId(row.event_id), row.job_id.map(JobId))))
}
