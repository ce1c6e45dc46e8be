//! Changes that sealing makes, and what it must know of other transactions.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Next;
use crate::error::StoreError;

/// One sealer at a time: an arbitrary number of our own among PostgreSQL's advisory locks.
const LOCK: i64 = 0x5175_6974_7365_616C;

/// Takes the lock until the transaction ends; says whether it was free.
pub(super) async fn try_lock(conn: &mut PgConnection) -> Result<bool, StoreError> {
    let free = sqlx::query_scalar!(r#"SELECT pg_try_advisory_xact_lock($1) AS "free!""#, LOCK)
        .fetch_one(conn)
        .await?;
    Ok(free)
}

/// Makes the statements of a round plan for the little that each looks at.
pub(super) async fn prepare(conn: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("SET LOCAL plan_cache_mode = force_custom_plan")
        .execute(conn)
        .await?;
    Ok(())
}

/// The last posting that was given out, whether or not its transaction has ended.
pub(super) async fn last_posting(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let last = sqlx::query_scalar!(
        r#"SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS "last!" FROM transfers_posting_id_seq"#
    )
    .fetch_one(conn)
    .await?;
    Ok(last)
}

/// The id of this transaction: every id that was given out before is smaller.
///
/// A snapshot's `xmax` would not do: it is one past the newest transaction that has *ended*, and running
/// ones may be at or above it.
pub(super) async fn own_transaction(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let id = sqlx::query_scalar!(r#"SELECT pg_current_xact_id()::text::bigint AS "id!""#)
        .fetch_one(conn)
        .await?;
    Ok(id)
}

/// The oldest transaction that still runs: every one with a smaller id has ended, and later statements see
/// what it wrote.
pub(super) async fn oldest_running(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let oldest = sqlx::query_scalar!(
        r#"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "oldest!""#
    )
    .fetch_one(conn)
    .await?;
    Ok(oldest)
}

/// Writes a seal.
pub(super) async fn insert(
    conn: &mut PgConnection,
    next: &Next,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let frontier: Vec<_> = next.tree.peaks().iter().map(|peak| &peak.0[..]).collect();
    sqlx::query!(
        "INSERT INTO seals (seal_number, previous_number, posting_from, posting_to, leaves_before, leaves, unmoved, root,
             previous_root, frontier, sealed_at)
         VALUES ($1, nullif($1::bigint - 1, 0), $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        next.number,
        next.posting_from,
        next.posting_to,
        next.leaves_before,
        next.leaves(),
        next.unmoved.len() as i64,
        &next.tree.root().0[..],
        next.previous_root.as_ref().map(|root| &root.0[..]),
        &frontier as &[&[u8]],
        at,
    )
    .execute(&mut *conn)
    .await?;
    let (tenants, ids): (Vec<Uuid>, Vec<Uuid>) = next
        .unmoved
        .iter()
        .map(|(tenant, id)| (*tenant, id.0))
        .unzip();
    sqlx::query!(
        "INSERT INTO sealed_unmoved (tenant_id, settlement_id, seal_number)
         SELECT tenant_id, settlement_id, $3 FROM unnest($1::uuid[], $2::uuid[]) AS sealed (tenant_id, settlement_id)",
        &tenants,
        &ids,
        next.number,
    )
    .execute(conn)
    .await?;
    Ok(())
}
