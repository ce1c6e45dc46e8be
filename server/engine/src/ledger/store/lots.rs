//! Finding lots past their date.

use chrono::{DateTime, Utc};
use domain::{
    id::{LotId, TenantId, WalletId},
    money::Amount,
};
use sqlx::PgConnection;

use super::{columns, currency};
use crate::{error::StoreError, worker::expire::ExpiredLot};

/// Wallets that have lots past their date, longest expired first.
pub(in crate::ledger) async fn expiring_wallets(
    conn: &mut PgConnection,
    at: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(TenantId, WalletId)>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT DISTINCT tenant_id, wallet_id FROM (
               SELECT tenant_id, wallet_id FROM lots
               WHERE remaining > 0 AND expires_at IS NOT NULL AND expires_at <= $1
               ORDER BY expires_at LIMIT $2) AS longest"#,
        at,
        limit,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (TenantId(row.tenant_id), WalletId(row.wallet_id)))
        .collect())
}

/// Lots of locked wallets past their date, with the version their next expiry settlement has.
pub(in crate::ledger) async fn expired_lots(
    conn: &mut PgConnection,
    wallets: &[(TenantId, WalletId)],
    at: DateTime<Utc>,
) -> Result<Vec<ExpiredLot>, StoreError> {
    let (tenants, ids) = columns(wallets);
    let rows = sqlx::query!(
        r#"SELECT l.tenant_id, l.wallet_id, l.lot_id, l.currency, l.remaining, l.expires_at AS "expired_at!",
                  (SELECT coalesce(max(s.version), 0) + 1 FROM settlements s
                   WHERE s.tenant_id = l.tenant_id AND s.subject_kind = 'lot' AND s.subject_id = l.lot_id
                     AND s.phase = 'expiry') AS "version!"
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, wallet_id)
           JOIN lots l ON l.tenant_id = wanted.tenant_id AND l.wallet_id = wanted.wallet_id
           WHERE l.remaining > 0 AND l.expires_at <= $3
           ORDER BY l.expires_at, l.lot_id"#,
        &tenants,
        &ids,
        at,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let remaining = Amount::exact(row.remaining, currency(&row.currency)?);
            Ok(ExpiredLot {
                tenant: TenantId(row.tenant_id),
                wallet: WalletId(row.wallet_id),
                lot: LotId(row.lot_id),
                remaining: remaining
                    .map_err(|error| StoreError::inconsistent("lots", "remaining", error))?,
                expired_at: row.expired_at,
                version: row.version,
            })
        })
        .collect()
}
