//! API keys in and out.

use chrono::{DateTime, Utc};
use domain::id::{ApiKeyId, TenantId};
use sqlx::PgConnection;

use super::{Caller, Listed};
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    caller: Caller,
    name: &str,
    hash: &[u8; 32],
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO api_keys (tenant_id, api_key_id, name, secret_hash, livemode, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        caller.tenant.0,
        caller.key.0,
        name,
        hash.as_slice(),
        caller.livemode,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn active_hash(
    conn: &mut PgConnection,
    caller: Caller,
) -> Result<Option<Vec<u8>>, StoreError> {
    let hash = sqlx::query_scalar!(
        "SELECT secret_hash FROM api_keys
         WHERE tenant_id = $1 AND api_key_id = $2 AND livemode = $3 AND revoked_at IS NULL",
        caller.tenant.0,
        caller.key.0,
        caller.livemode,
    )
    .fetch_optional(conn)
    .await?;
    Ok(hash)
}

pub(super) async fn revoke(
    conn: &mut PgConnection,
    tenant: TenantId,
    key: ApiKeyId,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "UPDATE api_keys SET revoked_at = $3
         WHERE tenant_id = $1 AND api_key_id = $2 AND revoked_at IS NULL",
        tenant.0,
        key.0,
        at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
) -> Result<Vec<Listed>, StoreError> {
    let rows = sqlx::query!(
        "SELECT api_key_id, name, livemode, created_at, revoked_at FROM api_keys
         WHERE tenant_id = $1 ORDER BY api_key_id",
        tenant.0,
    )
    .fetch_all(conn)
    .await?;
    let listed = rows.into_iter().map(|row| Listed {
        key: ApiKeyId(row.api_key_id),
        name: row.name,
        livemode: row.livemode,
        created_at: row.created_at,
        revoked_at: row.revoked_at,
    });
    Ok(listed.collect())
}
