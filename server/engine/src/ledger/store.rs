//! SQL of the ledger. Constraint names become variants here and nowhere else.

mod accounts;
mod lock;
mod lots;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, Utc};
use domain::{
    id::{AccountId, LotId, TenantId},
    money::Currency,
    settlement::SettlementKey,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

pub(super) use self::accounts::{PlatformAccounts, open_accounts, platform_accounts};
pub(super) use self::lock::{load_draws, load_lots, lock_balances};
pub(super) use self::lots::{expired_lots, expiring_wallets};
use super::{
    Funds, PostError,
    batch::{PlannedDraw, PlannedSettlement, PlannedTransfer, Side, lost},
};
use crate::error::StoreError;

fn currency(code: &str) -> Result<Currency, StoreError> {
    code.parse()
        .map_err(|error| StoreError::inconsistent("accounts", "currency", error))
}

/// Pairs as two columns, each pair once.
fn columns<A: Copy + Ord + Into<Uuid>, B: Copy + Ord + Into<Uuid>>(
    pairs: &[(A, B)],
) -> (Vec<Uuid>, Vec<Uuid>) {
    let distinct: BTreeSet<_> = pairs.iter().copied().collect();
    distinct
        .into_iter()
        .map(|(a, b)| (a.into(), b.into()))
        .unzip()
}

/// Inserts settlements and returns the keys that lost to one committed before. Only `settlements_key`
/// counts as that; any other clash is an error.
pub(super) async fn insert_settlements(
    conn: &mut PgConnection,
    planned: &[PlannedSettlement],
    at: DateTime<Utc>,
) -> Result<Vec<SettlementKey>, StoreError> {
    let column =
        |pick: fn(&PlannedSettlement) -> Uuid| planned.iter().map(pick).collect::<Vec<_>>();
    let words =
        |pick: fn(&PlannedSettlement) -> &'static str| planned.iter().map(pick).collect::<Vec<_>>();
    let versions: Vec<_> = planned.iter().map(|s| s.posting.key.version).collect();
    let amounts: Vec<_> = planned
        .iter()
        .map(|s| s.posting.effect.amount.value())
        .collect();
    let snapshots: Vec<_> = planned.iter().map(|s| &s.posting.effect.snapshot).collect();
    let hashes: Vec<_> = planned.iter().map(|s| s.hash.0.as_slice()).collect();
    let events: Vec<_> = planned
        .iter()
        .map(|s| s.posting.event.map(|event| event.0))
        .collect();
    let livemodes: Vec<_> = planned.iter().map(|s| s.livemode).collect();
    let written = sqlx::query_scalar!(
        r#"INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version,
               wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at)
           SELECT planned.*, $14
           FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::text[], $6::int[], $7::uuid[],
               $8::text[], $9::bool[], $10::numeric[], $11::jsonb[], $12::bytea[], $13::bigint[]) AS planned
           ON CONFLICT ON CONSTRAINT settlements_key DO NOTHING
           RETURNING settlement_id"#,
        &column(|s| s.posting.key.tenant.0),
        &column(|s| s.id.0),
        &words(|s| s.posting.key.subject.kind()) as &[&str],
        &column(|s| s.posting.key.subject.uuid()),
        &words(|s| s.posting.key.phase.as_str()) as &[&str],
        &versions,
        &column(|s| s.posting.wallet.0),
        &words(|s| s.posting.effect.amount.currency().code()) as &[&str],
        &livemodes,
        &amounts,
        &snapshots as &[&serde_json::Value],
        &hashes as &[&[u8]],
        &events as &[Option<i64>],
        at,
    )
    .fetch_all(conn)
    .await?;
    Ok(lost(planned, &written.into_iter().collect::<HashSet<_>>()))
}

/// Inserts transfers in posting order, so that `posting_id` follows it.
pub(super) async fn insert_transfers(
    conn: &mut PgConnection,
    planned: &[PlannedTransfer],
    platform: &PlatformAccounts,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let account = |side: Side| match side {
        Side::Wallet { account, balance } => Ok((account.0, Some(balance))),
        Side::Platform(key) => platform.id(&key).map(|account| (account.0, None)),
    };
    let debits: Vec<_> = planned
        .iter()
        .map(|transfer| account(transfer.debit))
        .collect::<Result<_, _>>()?;
    let credits: Vec<_> = planned
        .iter()
        .map(|transfer| account(transfer.credit))
        .collect::<Result<_, _>>()?;
    let (debit_accounts, debit_balances): (Vec<_>, Vec<_>) = debits.into_iter().unzip();
    let (credit_accounts, credit_balances): (Vec<_>, Vec<_>) = credits.into_iter().unzip();
    let tenants: Vec<_> = planned.iter().map(|transfer| transfer.tenant.0).collect();
    let settlements: Vec<_> = planned
        .iter()
        .map(|transfer| transfer.settlement.0)
        .collect();
    let entry_types: Vec<_> = planned
        .iter()
        .map(|transfer| transfer.entry.entry_type.as_str())
        .collect();
    let currencies: Vec<_> = planned
        .iter()
        .map(|transfer| transfer.currency.code())
        .collect();
    let amounts: Vec<_> = planned
        .iter()
        .map(|transfer| transfer.entry.amount.value())
        .collect();
    sqlx::query!(
        r#"INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id,
               currency, amount, debit_balance, credit_balance, posted_at)
           SELECT tenant_id, settlement_id, entry_type, debit, credit, currency, amount, debit_balance, credit_balance, $10
           FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::numeric[],
               $8::numeric[], $9::numeric[]) WITH ORDINALITY
               AS planned (tenant_id, settlement_id, entry_type, debit, credit, currency, amount,
                   debit_balance, credit_balance, position)
           ORDER BY position"#,
        &tenants,
        &settlements,
        &entry_types as &[&str],
        &debit_accounts,
        &credit_accounts,
        &currencies as &[&str],
        &amounts,
        &debit_balances as &[Option<Decimal>],
        &credit_balances as &[Option<Decimal>],
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records which lots were drawn from and given back to.
pub(super) async fn insert_draws(
    conn: &mut PgConnection,
    draws: &[PlannedDraw],
) -> Result<(), StoreError> {
    if draws.is_empty() {
        return Ok(());
    }
    let tenants: Vec<_> = draws.iter().map(|draw| draw.tenant.0).collect();
    let settlements: Vec<_> = draws.iter().map(|draw| draw.settlement.0).collect();
    let lots: Vec<_> = draws.iter().map(|draw| draw.lot.0).collect();
    let jobs: Vec<_> = draws.iter().map(|draw| draw.job.map(|job| job.0)).collect();
    let changes: Vec<_> = draws.iter().map(|draw| draw.change).collect();
    sqlx::query!(
        r#"INSERT INTO lot_draws (tenant_id, settlement_id, lot_id, job_id, direction, amount)
           SELECT tenant_id, settlement_id, lot_id, job_id, CASE WHEN change < 0 THEN 'draw' ELSE 'return' END, abs(change)
           FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::numeric[])
               AS planned (tenant_id, settlement_id, lot_id, job_id, change)"#,
        &tenants,
        &settlements,
        &lots,
        &jobs as &[Option<Uuid>],
        &changes,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes what remains of lots; the wallet's lock guards them.
pub(super) async fn move_lots(
    conn: &mut PgConnection,
    changes: &BTreeMap<(TenantId, LotId), Decimal>,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let tenants: Vec<_> = changes.keys().map(|(tenant, _)| tenant.0).collect();
    let lots: Vec<_> = changes.keys().map(|(_, lot)| lot.0).collect();
    let by: Vec<_> = changes.values().copied().collect();
    let moved = sqlx::query!(
        r#"UPDATE lots SET remaining = lots.remaining + planned.change
           FROM unnest($1::uuid[], $2::uuid[], $3::numeric[]) AS planned (tenant_id, lot_id, change)
           WHERE lots.tenant_id = planned.tenant_id AND lots.lot_id = planned.lot_id"#,
        &tenants,
        &lots,
        &by,
    )
    .execute(conn)
    .await?;
    expect_rows("lots", moved.rows_affected(), changes.len())
}

/// Writes the balances of locked wallets. The version proves that nobody posted past the lock.
pub(super) async fn update_wallet_balances<'a>(
    conn: &mut PgConnection,
    touched: impl Iterator<Item = (TenantId, &'a Funds)>,
    at: DateTime<Utc>,
) -> Result<(), PostError> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let accounts =
        touched.flat_map(|(tenant, funds)| [(tenant, &funds.available), (tenant, &funds.held)]);
    for (tenant, account) in
        accounts.filter(|(_, account)| account.version != account.locked_version)
    {
        columns.0.push(tenant.0);
        columns.1.push(account.id.0);
        columns.2.push(account.balance);
        columns.3.push(account.version);
        columns.4.push(account.locked_version);
    }
    let written = sqlx::query!(
        r#"UPDATE balances SET balance = planned.balance, version = planned.version, updated_at = $6
           FROM unnest($1::uuid[], $2::uuid[], $3::numeric[], $4::bigint[], $5::bigint[])
               AS planned (tenant_id, account_id, balance, version, locked_version)
           WHERE balances.tenant_id = planned.tenant_id AND balances.account_id = planned.account_id
             AND balances.version = planned.locked_version"#,
        &columns.0,
        &columns.1,
        &columns.2,
        &columns.3,
        &columns.4,
        at,
    )
    .execute(conn)
    .await
    .map_err(|error| overdrawn(error.into()))?;
    if written.rows_affected() == columns.0.len() as u64 {
        Ok(())
    } else {
        Err(PostError::Raced)
    }
}

fn overdrawn(error: StoreError) -> PostError {
    match error.constraint() {
        Some("balances_not_overdrawn") => PostError::Overdrawn(error),
        _ => PostError::Store(error),
    }
}

/// Adds to platform accounts, locking them in account order first: an update from a join has no order
/// of its own, and two batches that met in opposite orders would deadlock.
pub(super) async fn add_to_platform_balances(
    conn: &mut PgConnection,
    changes: &BTreeMap<(AccountId, TenantId), (Decimal, i64)>,
    at: DateTime<Utc>,
) -> Result<(), PostError> {
    if changes.is_empty() {
        return Ok(());
    }
    let accounts: Vec<_> = changes.keys().map(|(account, _)| account.0).collect();
    let tenants: Vec<_> = changes.keys().map(|(_, tenant)| tenant.0).collect();
    let by: Vec<_> = changes.values().map(|(sum, _)| *sum).collect();
    let counts: Vec<_> = changes.values().map(|(_, count)| *count).collect();
    let written = sqlx::query!(
        r#"WITH planned AS MATERIALIZED (
               SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::numeric[], $4::bigint[])
                   AS planned (account_id, tenant_id, change, transfers)),
           locked AS MATERIALIZED (
               SELECT b.tenant_id, b.account_id FROM planned JOIN balances b USING (tenant_id, account_id)
               ORDER BY b.account_id, b.tenant_id FOR UPDATE OF b)
           UPDATE balances SET balance = balances.balance + planned.change,
                  version = balances.version + planned.transfers, updated_at = $5
           FROM planned JOIN locked USING (tenant_id, account_id)
           WHERE balances.tenant_id = locked.tenant_id AND balances.account_id = locked.account_id"#,
        &accounts,
        &tenants,
        &by,
        &counts,
        at,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from)?;
    Ok(expect_rows(
        "balances",
        written.rows_affected(),
        changes.len(),
    )?)
}

fn expect_rows(table: &'static str, written: u64, planned: usize) -> Result<(), StoreError> {
    if written == planned as u64 {
        return Ok(());
    }
    Err(StoreError::inconsistent(
        table,
        "(row)",
        format!("{written} of {planned} rows were there to update"),
    ))
}
