//! Opening accounts and finding those of the platform.

use std::collections::{BTreeSet, HashMap};

use domain::{
    id::{AccountId, TenantId, WalletId},
    money::Currency,
    settlement::AccountKind,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{super::batch::PlatformKey, currency};
use crate::{Engine, error::StoreError};

/// Ids of platform accounts.
#[derive(Debug, Default)]
pub(in crate::ledger) struct PlatformAccounts(HashMap<PlatformKey, AccountId>);

impl PlatformAccounts {
    pub(in crate::ledger) fn id(&self, key: &PlatformKey) -> Result<AccountId, StoreError> {
        self.0.get(key).copied().ok_or_else(|| {
            StoreError::inconsistent(
                "accounts",
                "kind",
                format!("{} has no {} account", key.tenant, key.kind),
            )
        })
    }
}

/// Looks platform accounts up. Read in the posting transaction and not kept: an account that another
/// transaction opened and rolled back must never be remembered.
pub(in crate::ledger) async fn platform_accounts(
    conn: &mut PgConnection,
    wanted: &BTreeSet<PlatformKey>,
) -> Result<PlatformAccounts, StoreError> {
    let tenants: Vec<_> = wanted.iter().map(|key| key.tenant.0).collect();
    let kinds: Vec<_> = wanted.iter().map(|key| key.kind.as_str()).collect();
    let currencies: Vec<_> = wanted.iter().map(|key| key.currency.code()).collect();
    let livemodes: Vec<_> = wanted.iter().map(|key| key.livemode).collect();
    let rows = sqlx::query!(
        r#"SELECT a.tenant_id, a.account_id, a.kind, a.currency, a.livemode
           FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bool[]) AS wanted (tenant_id, kind, currency, livemode)
           JOIN accounts a USING (tenant_id, kind, currency, livemode)
           WHERE a.wallet_id IS NULL"#,
        &tenants,
        &kinds as &[&str],
        &currencies as &[&str],
        &livemodes,
    )
    .fetch_all(conn)
    .await?;
    let mut accounts = PlatformAccounts::default();
    for row in rows {
        let kind = row
            .kind
            .parse()
            .map_err(|error| StoreError::inconsistent("accounts", "kind", error))?;
        let (tenant, currency, livemode) = (
            TenantId(row.tenant_id),
            currency(&row.currency)?,
            row.livemode,
        );
        accounts.0.insert(
            PlatformKey {
                tenant,
                kind,
                currency,
                livemode,
            },
            AccountId(row.account_id),
        );
    }
    Ok(accounts)
}

/// Opens accounts that are missing, each with a balance of zero.
pub(in crate::ledger) async fn open_accounts(
    conn: &mut PgConnection,
    engine: &Engine,
    (tenant, wallet): (TenantId, WalletId),
    currency: Currency,
    livemode: bool,
) -> Result<(), StoreError> {
    let wallets = AccountKind::ALL
        .iter()
        .map(|kind| kind.of_wallet().then_some(wallet.0))
        .collect::<Vec<_>>();
    let kinds = AccountKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .collect::<Vec<_>>();
    let ids = AccountKind::ALL
        .iter()
        .map(|_| engine.mint())
        .collect::<Vec<_>>();
    sqlx::query!(
        r#"WITH opened AS (
               INSERT INTO accounts (tenant_id, account_id, wallet_id, kind, currency, livemode)
               SELECT $1, account_id, wallet_id, kind, $2, $3
               FROM unnest($4::uuid[], $5::uuid[], $6::text[]) AS planned (account_id, wallet_id, kind)
               ON CONFLICT ON CONSTRAINT accounts_identity DO NOTHING
               RETURNING tenant_id, account_id, wallet_id, currency)
           INSERT INTO balances (tenant_id, account_id, currency, floored, updated_at)
           SELECT tenant_id, account_id, currency, wallet_id IS NOT NULL, $7 FROM opened"#,
        tenant.0,
        currency.code(),
        livemode,
        &ids,
        &wallets as &[Option<Uuid>],
        &kinds as &[&str],
        engine.clock().now(),
    )
    .execute(conn)
    .await?;
    Ok(())
}
