//! The double-entry ledger: locking wallets, and posting settlements in sets.
//!
//! Invariants: a balance changes only together with the transfers it sums up; a transfer of a wallet
//! account carries the balance after it, so the account's history is a chain; what is available in a
//! wallet is exactly what its lots still hold. All of it rests on one rule: whoever posts holds the
//! locks of the wallets it posts to, taken by [`lock`] in account order, before ids are minted.
//!
//! Cost: locking takes two or three statements and posting seven, whatever the size of the batch.
//! Platform accounts (revenue, funding, …) are shared by all wallets of a tenant. They are added to,
//! not locked first, and last of all, so that they are held for as short as can be: post right
//! before the commit.

mod batch;
mod funds;
mod store;
pub mod views;

use chrono::{DateTime, Utc};
use domain::{
    canonical::CanonicalError,
    id::{EventId, JobId, SettlementId, TenantId, WalletId},
    lot,
    money::{AmountError, Currency},
    settlement::{Effect, SettlementKey},
};
use sqlx::PgConnection;

pub use self::{
    batch::Batch,
    funds::{Funds, Locked},
};
use crate::{Engine, error::StoreError, worker::expire::ExpiredLot};

/// One settlement to be written.
#[derive(Clone, PartialEq, Debug)]
pub struct Posting {
    /// Its immutable identity.
    pub key: SettlementKey,
    /// Wallet whose money moves; must be locked.
    pub wallet: WalletId,
    /// What was decided.
    pub effect: Effect,
    /// The event that caused it, if one did.
    pub event: Option<EventId>,
}

/// Why a batch was not posted. The caller rolls back in every case.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// Other settlements with these keys committed first. The caller reads what was recorded and
    /// compares.
    #[error("already settled: {}", keys(.0))]
    AlreadySettled(Vec<SettlementKey>),
    /// The wallet was not locked before; a fault of the caller.
    #[error("{0} was not locked before it was posted to")]
    NotLocked(WalletId),
    /// The lots hold less than is drawn.
    #[error("{0} cannot cover the entry")]
    Short(WalletId, #[source] lot::Short),
    /// A wallet account would go below zero.
    #[error("a wallet account would be overdrawn")]
    Overdrawn(#[source] StoreError),
    /// More is returned to the wallet than the job ever drew.
    #[error("{0} returns more than it drew from its lots")]
    ReturnsTooMuch(SettlementKey),
    /// A wallet changed although it was locked: someone posts without locking.
    #[error("a balance changed under its lock")]
    Raced,
    /// Amounts that do not belong together.
    #[error(transparent)]
    Amount(#[from] AmountError),
    /// The content cannot be hashed.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn keys(keys: &[SettlementKey]) -> String {
    keys.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Locks wallets in account order and loads what posting needs: balances, open lots, and what the
/// named jobs have drawn from lots (needed when credit may return to them).
///
/// Unknown wallets are left out.
///
/// # Errors
/// [`StoreError`].
pub async fn lock(
    conn: &mut PgConnection,
    wallets: &[(TenantId, WalletId)],
    jobs: &[(TenantId, JobId)],
) -> Result<Locked, StoreError> {
    let mut locked = store::lock_balances(conn, wallets).await?;
    // Read after the locks are held: the statement that waited for them saw an older state.
    store::load_lots(conn, wallets, &mut locked).await?;
    if !jobs.is_empty() {
        store::load_draws(conn, jobs, &mut locked).await?;
    }
    Ok(locked)
}

/// Posts settlements in the order given and returns their ids.
///
/// # Errors
/// [`PostError`]; the transaction must be rolled back.
pub async fn post(
    conn: &mut PgConnection,
    engine: &Engine,
    locked: Locked,
    postings: &[Posting],
    at: DateTime<Utc>,
) -> Result<Vec<SettlementId>, PostError> {
    let mut batch = Batch::new(locked, at);
    let ids = postings
        .iter()
        .map(|posting| batch.add(engine, posting))
        .collect::<Result<_, _>>()?;
    batch.write(conn).await?;
    Ok(ids)
}

/// Opens the two accounts of a new wallet, and the tenant's platform accounts of its currency and mode
/// where they are missing.
///
/// # Errors
/// [`StoreError`].
pub async fn open_accounts(
    conn: &mut PgConnection,
    engine: &Engine,
    (tenant, wallet): (TenantId, WalletId),
    currency: Currency,
    livemode: bool,
) -> Result<(), StoreError> {
    store::open_accounts(conn, engine, (tenant, wallet), currency, livemode).await
}

/// Wallets that hold credit past its date.
pub(crate) async fn expiring_wallets(
    conn: &mut PgConnection,
    at: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<(TenantId, WalletId)>, StoreError> {
    store::expiring_wallets(conn, at, limit).await
}

/// Lots past their date of wallets whose locks are held.
pub(crate) async fn expired_lots(
    conn: &mut PgConnection,
    wallets: &[(TenantId, WalletId)],
    at: DateTime<Utc>,
) -> Result<Vec<ExpiredLot>, StoreError> {
    store::expired_lots(conn, wallets, at).await
}
