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
