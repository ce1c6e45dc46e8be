//! Changes of tenants, and what submissions read of them.

use chrono::{DateTime, Utc};
use domain::id::{TenantId, WalletId};
use sqlx::PgConnection;

use super::{NewTenant, Rules};
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    id: TenantId,
    tenant: &NewTenant,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO tenants (tenant_id, name, in_flight_limit, max_quote, overage, refund_on_failure,
                              late_cancel, partial, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        id.0,
        tenant.name,
        tenant.in_flight_limit,
        tenant.max_quote,
        tenant.policy.overage.as_str(),
        tenant.refund_on_failure,
        tenant.policy.late_cancel.as_str(),
        tenant.policy.partial.as_str(),
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Read after the wallet's lock is held, so that a freeze that committed meanwhile is seen. Counting
/// stops at the limit, so a tenant with many jobs in flight costs no more than its limit.
pub(crate) async fn rules(
    conn: &mut PgConnection,
    tenant: TenantId,
    wallet: WalletId,
) -> Result<Rules, StoreError> {
    let row = sqlx::query!(
        r#"SELECT t.in_flight_limit, t.max_quote, t.refund_on_failure, w.frozen_reason,
                  (SELECT count(*) FROM (
                      SELECT 1 FROM jobs j
                      WHERE j.tenant_id = $1 AND j.state IN ('pending', 'running')
                      LIMIT t.in_flight_limit) counted) AS "in_flight!"
           FROM tenants t JOIN wallets w USING (tenant_id)
           WHERE t.tenant_id = $1 AND w.wallet_id = $2"#,
        tenant.0,
        wallet.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(Rules {
        in_flight_limit: row.in_flight_limit,
        in_flight: row.in_flight,
        max_quote: row.max_quote,
        refund_on_failure: row.refund_on_failure,
        frozen_reason: row.frozen_reason,
    })
}
