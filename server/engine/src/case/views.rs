//! Decisions on cases as they are read.

use chrono::{DateTime, Utc};
use domain::{event::CaseDecision, id::EventId};
use sqlx::PgConnection;

use crate::error::StoreError;

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What.
    pub decision: CaseDecision,
    /// About which conflict, if about one.
    pub conflict: Option<i64>,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Most decisions read of one event.
const MOST: i64 = 100;

/// The decisions on an event, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn decisions(
    conn: &mut PgConnection,
    event: EventId,
) -> Result<Vec<Decision>, StoreError> {
    let rows = sqlx::query!(
        "SELECT d.decision, d.conflict_id, d.reason, o.name, d.decided_at
         FROM case_decisions d JOIN operators o ON o.operator_id = d.decided_by
         WHERE d.event_id = $1 ORDER BY d.decision_id LIMIT $2",
        event.0,
        MOST,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let decision = row
                .decision
                .parse()
                .map_err(|error| StoreError::inconsistent("case_decisions", "decision", error))?;
            Ok(Decision {
                decision,
                conflict: row.conflict_id,
                reason: row.reason,
                by: row.name,
                at: row.decided_at,
            })
        })
        .collect()
}
