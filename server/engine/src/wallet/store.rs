//! Changes of wallets and lots.

use chrono::{DateTime, Utc};
use domain::{
    id::{LotId, SettlementId, TenantId, WalletId},
    money::{Amount, Currency},
};
use sqlx::PgConnection;

use super::{Grant, Granted, Known};
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    (tenant, wallet): (TenantId, WalletId),
    name: &str,
    currency: Currency,
    livemode: bool,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO wallets (tenant_id, wallet_id, name, currency, livemode, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        tenant.0,
        wallet.0,
        name,
        currency.code(),
        livemode,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn insert_lot(
    conn: &mut PgConnection,
    lot: LotId,
    grant: &Grant,
    livemode: bool,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO lots (tenant_id, lot_id, wallet_id, currency, livemode, amount, remaining, note,
                           granted_at, expires_at, grant_key)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10)",
        grant.tenant.0,
        lot.0,
        grant.wallet.0,
        grant.amount.currency().code(),
        livemode,
        grant.amount.value(),
        grant.note,
        at,
        grant.expires_at,
        grant.key,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What a key of a tenant has credited.
pub(super) async fn granted(
    conn: &mut PgConnection,
    tenant: TenantId,
    key: &str,
) -> Result<Option<(Known, Granted)>, StoreError> {
    let row = sqlx::query!(
        "SELECT l.lot_id, l.wallet_id, l.currency, l.amount, l.expires_at, s.settlement_id
         FROM lots l
         JOIN settlements s ON s.tenant_id = l.tenant_id AND s.subject_kind = 'lot' AND s.subject_id = l.lot_id
             AND s.phase = 'grant' AND s.version = 1
         WHERE l.tenant_id = $1 AND l.grant_key = $2",
        tenant.0,
        key,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency: Currency = row
        .currency
        .parse()
        .map_err(|error| StoreError::inconsistent("lots", "currency", error))?;
    let known = Known {
        wallet: WalletId(row.wallet_id),
        amount: Amount::exact(row.amount, currency)
            .map_err(|error| StoreError::inconsistent("lots", "amount", error))?,
        expires_at: row.expires_at,
    };
    let granted = Granted {
        lot: LotId(row.lot_id),
        settlement: SettlementId(row.settlement_id),
    };
    Ok(Some((known, granted)))
}

pub(super) async fn freeze(
    conn: &mut PgConnection,
    (tenant, wallet): (TenantId, WalletId),
    reason: &str,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE wallets SET frozen_at = $3, frozen_reason = $4
         WHERE tenant_id = $1 AND wallet_id = $2 AND frozen_at IS NULL",
        tenant.0,
        wallet.0,
        at,
        reason,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn thaw(
    conn: &mut PgConnection,
    (tenant, wallet): (TenantId, WalletId),
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "UPDATE wallets SET frozen_at = NULL, frozen_reason = NULL
         WHERE tenant_id = $1 AND wallet_id = $2",
        tenant.0,
        wallet.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}
