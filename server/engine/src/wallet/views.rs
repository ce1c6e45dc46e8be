//! What is shown of wallets.

use chrono::{DateTime, Utc};
use domain::{
    id::{TenantId, WalletId},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// A wallet with its balances.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalletView {
    /// Owner.
    pub tenant: TenantId,
    /// Id.
    pub wallet: WalletId,
    /// Name.
    pub name: String,
    /// True for real money.
    pub livemode: bool,
    /// Balance of the available account.
    pub available: Amount,
    /// The part of it that unexpired lots cover: what may be spent now.
    pub spendable: Amount,
    /// Set aside for jobs.
    pub held: Amount,
    /// Since when spending is stopped.
    pub frozen_at: Option<DateTime<Utc>>,
    /// Why.
    pub frozen_reason: Option<String>,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
}

struct Row {
    tenant_id: Uuid,
    wallet_id: Uuid,
    name: String,
    currency: String,
    livemode: bool,
    available: Decimal,
    held: Decimal,
    spendable: Decimal,
    frozen_at: Option<DateTime<Utc>>,
    frozen_reason: Option<String>,
    created_at: DateTime<Utc>,
}

impl TryFrom<Row> for WalletView {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let currency: Currency = row
            .currency
            .parse()
            .map_err(|error| StoreError::inconsistent("wallets", "currency", error))?;
        let amount = |value| {
            Amount::exact(value, currency)
                .map_err(|error| StoreError::inconsistent("balances", "balance", error))
        };
        Ok(Self {
            tenant: TenantId(row.tenant_id),
            wallet: WalletId(row.wallet_id),
            name: row.name,
            livemode: row.livemode,
            available: amount(row.available)?,
            spendable: amount(row.spendable)?,
            held: amount(row.held)?,
            frozen_at: row.frozen_at,
            frozen_reason: row.frozen_reason,
            created_at: row.created_at,
        })
    }
}

/// A tenant's wallets of one mode, oldest first; all of one id when `wallet` is given.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    livemode: bool,
    wallet: Option<WalletId>,
    now: DateTime<Utc>,
) -> Result<Vec<WalletView>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT w.tenant_id, w.wallet_id, w.name, w.currency, w.livemode, w.frozen_at, w.frozen_reason,
                  w.created_at, a.balance AS "available!", h.balance AS "held!",
                  (SELECT coalesce(sum(l.remaining), 0) FROM lots l
                   WHERE l.tenant_id = w.tenant_id AND l.wallet_id = w.wallet_id AND l.remaining > 0
                     AND (l.expires_at IS NULL OR l.expires_at > $4)) AS "spendable!"
           FROM wallets w
           JOIN accounts aa ON aa.tenant_id = w.tenant_id AND aa.wallet_id = w.wallet_id AND aa.kind = 'available'
           JOIN balances a ON a.tenant_id = aa.tenant_id AND a.account_id = aa.account_id
           JOIN accounts ha ON ha.tenant_id = w.tenant_id AND ha.wallet_id = w.wallet_id AND ha.kind = 'held'
           JOIN balances h ON h.tenant_id = ha.tenant_id AND h.account_id = ha.account_id
           WHERE w.tenant_id = $1 AND w.livemode = $2 AND ($3::uuid IS NULL OR w.wallet_id = $3)
           ORDER BY w.wallet_id"#,
        tenant.0,
        livemode,
        wallet.map(|wallet| wallet.0),
        now,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(WalletView::try_from).collect()
}

/// One wallet of a tenant and mode.
///
/// # Errors
/// [`StoreError`].
pub async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    livemode: bool,
    wallet: WalletId,
    now: DateTime<Utc>,
) -> Result<Option<WalletView>, StoreError> {
    Ok(list(conn, tenant, livemode, Some(wallet), now).await?.pop())
}
