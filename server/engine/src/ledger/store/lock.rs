//! Taking the locks of wallets, and reading what they guard.

use std::collections::HashMap;

use domain::{
    id::{AccountId, JobId, LotId, TenantId, WalletId},
    lot::Lot,
    settlement::AccountKind,
};
use sqlx::PgConnection;

use super::{
    super::{Funds, Locked, funds::Account},
    columns, currency,
};
use crate::error::StoreError;

/// Locks the balance rows of wallets' accounts, in account order.
pub(in crate::ledger) async fn lock_balances(
    conn: &mut PgConnection,
    wallets: &[(TenantId, WalletId)],
) -> Result<Locked, StoreError> {
    let (tenants, ids) = columns(wallets);
    let rows = sqlx::query!(
        r#"SELECT a.tenant_id, a.wallet_id AS "wallet_id!", a.account_id, a.kind, a.currency, a.livemode, b.balance, b.version
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, wallet_id)
           JOIN accounts a USING (tenant_id, wallet_id)
           JOIN balances b USING (tenant_id, account_id)
           ORDER BY a.account_id, a.tenant_id
           FOR UPDATE OF b"#,
        &tenants,
        &ids,
    )
    .fetch_all(conn)
    .await?;
    let mut accounts = HashMap::new();
    for row in rows {
        let kind = row
            .kind
            .parse()
            .map_err(|error| StoreError::inconsistent("accounts", "kind", error))?;
        let account = Account {
            id: AccountId(row.account_id),
            balance: row.balance.normalize(),
            version: row.version,
            locked_version: row.version,
        };
        let wallet = (TenantId(row.tenant_id), WalletId(row.wallet_id));
        accounts.insert(
            (wallet, kind),
            (account, currency(&row.currency)?, row.livemode),
        );
    }
    let mut locked = Locked::default();
    for &wallet in wallets {
        let half = |kind| accounts.remove(&(wallet, kind));
        let (Some((available, currency, livemode)), Some((held, ..))) =
            [AccountKind::Available, AccountKind::Held].map(half).into()
        else {
            continue;
        };
        let funds = Funds {
            currency,
            livemode,
            frozen: false,
            available,
            held,
            lots: Vec::new(),
        };
        locked.wallets.insert(wallet, funds);
    }
    Ok(locked)
}

/// Loads open lots and whether spending is stopped.
pub(in crate::ledger) async fn load_lots(
    conn: &mut PgConnection,
    wallets: &[(TenantId, WalletId)],
    locked: &mut Locked,
) -> Result<(), StoreError> {
    let (tenants, ids) = columns(wallets);
    let rows = sqlx::query!(
        r#"SELECT w.tenant_id, w.wallet_id, w.frozen_at IS NOT NULL AS "frozen!",
                  l.lot_id AS "lot_id?", l.remaining AS "remaining?", l.expires_at
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, wallet_id)
           JOIN wallets w USING (tenant_id, wallet_id)
           LEFT JOIN lots l ON l.tenant_id = w.tenant_id AND l.wallet_id = w.wallet_id AND l.remaining > 0"#,
        &tenants,
        &ids,
    )
    .fetch_all(conn)
    .await?;
    for row in rows {
        let Some(funds) = locked
            .wallets
            .get_mut(&(TenantId(row.tenant_id), WalletId(row.wallet_id)))
        else {
            continue;
        };
        funds.frozen = row.frozen;
        if let (Some(id), Some(remaining)) = (row.lot_id, row.remaining) {
            funds.lots.push(Lot {
                id: LotId(id),
                remaining: remaining.normalize(),
                expires_at: row.expires_at,
            });
        }
    }
    Ok(())
}

/// Loads what jobs have drawn from lots and not got back.
pub(in crate::ledger) async fn load_draws(
    conn: &mut PgConnection,
    jobs: &[(TenantId, JobId)],
    locked: &mut Locked,
) -> Result<(), StoreError> {
    let (tenants, ids) = columns(jobs);
    let rows = sqlx::query!(
        r#"SELECT d.tenant_id, d.job_id AS "job_id!", d.lot_id, l.expires_at,
                  sum(CASE d.direction WHEN 'draw' THEN d.amount ELSE -d.amount END) AS "net!"
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, job_id)
           JOIN lot_draws d USING (tenant_id, job_id)
           JOIN lots l ON l.tenant_id = d.tenant_id AND l.lot_id = d.lot_id
           GROUP BY d.tenant_id, d.job_id, d.lot_id, l.expires_at"#,
        &tenants,
        &ids,
    )
    .fetch_all(conn)
    .await?;
    for row in rows {
        let drawn = locked
            .drawn
            .entry((TenantId(row.tenant_id), JobId(row.job_id)))
            .or_default();
        drawn.push(Lot {
            id: LotId(row.lot_id),
            remaining: row.net.normalize(),
            expires_at: row.expires_at,
        });
    }
    Ok(())
}
