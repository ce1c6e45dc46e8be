//! The audit log's only write.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Record;
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    record: &Record<'_>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO audit_log (at, operator_id, actor, request_id, action, object, detail, reason)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        at,
        record.operator.map(|operator| operator.0),
        record.actor,
        record.request_id,
        record.action,
        record.object,
        record.detail,
        record.reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}
