//! What is shown of tenants.

use domain::id::TenantId;
use sqlx::PgConnection;

use crate::error::StoreError;

/// Name of a tenant, if it exists.
///
/// # Errors
/// [`StoreError`].
pub async fn name(conn: &mut PgConnection, tenant: TenantId) -> Result<Option<String>, StoreError> {
    let name = sqlx::query_scalar!("SELECT name FROM tenants WHERE tenant_id = $1", tenant.0)
        .fetch_optional(conn)
        .await?;
    Ok(name)
}

/// Tenants by name, for filters; the first two hundred.
///
/// # Errors
/// [`StoreError`].
pub async fn names(conn: &mut PgConnection) -> Result<Vec<(TenantId, String)>, StoreError> {
    let rows =
        sqlx::query!("SELECT tenant_id, name FROM tenants ORDER BY name, tenant_id LIMIT 200")
            .fetch_all(conn)
            .await?;
    Ok(rows
        .into_iter()
        .map(|row| (TenantId(row.tenant_id), row.name))
        .collect())
}
