//! The audit log's only write.

use domain::{
    audit::{GENESIS, Line},
    canonical::Hash,
};
use sqlx::PgConnection;

use super::views::Head;
use crate::error::StoreError;

/// Names the log's lock among advisory locks; the digits mean nothing.
const LOCK: i64 = 0x5175_6164_6974;

/// Takes the log's lock, which the transaction keeps, and reads the newest line.
pub(super) async fn lock_head(conn: &mut PgConnection) -> Result<Head, StoreError> {
    sqlx::query!("SELECT pg_advisory_xact_lock($1)", LOCK)
        .execute(&mut *conn)
        .await?;
    // A statement of its own, so that it sees what was committed while the lock was waited for.
    let newest =
        sqlx::query!("SELECT audit_id, hash FROM audit_log ORDER BY audit_id DESC LIMIT 1")
            .fetch_optional(conn)
            .await?;
    let Some(newest) = newest else {
        return Ok(Head {
            number: 0,
            hash: GENESIS,
        });
    };
    Ok(Head {
        number: newest.audit_id,
        hash: super::views::hash(newest.hash)?,
    })
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    line: &Line<'_>,
    previous: Hash,
    hash: Hash,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO audit_log (audit_id, at, operator_id, actor, request_id, action, object, detail, reason,
                                previous_hash, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        line.number,
        line.at,
        line.operator.map(|operator| operator.0),
        line.actor,
        line.request_id,
        line.action,
        line.object,
        line.detail,
        line.reason,
        &previous.0[..],
        &hash.0[..],
    )
    .execute(conn)
    .await?;
    Ok(())
}
