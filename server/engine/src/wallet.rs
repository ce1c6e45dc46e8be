//! Wallets: prepaid funds of a tenant in one currency and one mode.
//!
//! Credit enters only here, by [`grant`], which the command line and operators reach. Nothing a
//! customer can call leads to it.

mod store;
pub mod views;

use chrono::{DateTime, Utc};
use domain::{
    id::{ActionId, LotId, SettlementId, TenantId, WalletId},
    money::{Amount, Currency},
    settlement::{Effect, Entry, EntryType, Phase, SettlementKey, Subject},
};
use serde_json::json;
use sqlx::PgConnection;

use crate::{
    Engine,
    error::StoreError,
    ledger::{self, PostError, Posting},
    settlement,
};

/// Credit to be granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Grant {
    /// Tenant.
    pub tenant: TenantId,
    /// Wallet.
    pub wallet: WalletId,
    /// Names what is credited, such as a payment: within a tenant the same key credits once.
    pub key: String,
    /// How much; more than nothing.
    pub amount: Amount,
    /// When what remains expires; never, if `None`.
    pub expires_at: Option<DateTime<Utc>>,
    /// Where the credit comes from.
    pub note: String,
    /// The operator's action that gives it away; `None` for credit that was paid for.
    pub action: Option<ActionId>,
}

/// Credit that was granted, now or under the same key before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granted {
    /// The lot.
    pub lot: LotId,
    /// The settlement that posted it.
    pub settlement: SettlementId,
}

/// Why credit was not granted.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// No such wallet of that tenant.
    #[error("{0} does not exist")]
    UnknownWallet(WalletId),
    /// Nothing, or less.
    #[error("a grant must be more than nothing, not {0}")]
    NotPositive(Amount),
    /// The key credited something else before.
    #[error("the key {key:?} has credited something else before: {lot}")]
    KeyReused {
        /// The key.
        key: String,
        /// The lot it made.
        lot: LotId,
    },
    /// It would expire before it could be spent.
    #[error("the credit would have expired already")]
    Expired,
    /// Not the wallet's currency, or a failure of storage.
    #[error("the grant was not posted")]
    Post(#[from] PostError),
}

impl From<StoreError> for GrantError {
    fn from(error: StoreError) -> Self {
        Self::Post(error.into())
    }
}

/// Opens a wallet with its accounts.
///
/// # Errors
/// [`StoreError`].
pub async fn open(
    conn: &mut PgConnection,
    engine: &Engine,
    tenant: TenantId,
    name: &str,
    currency: Currency,
    livemode: bool,
) -> Result<WalletId, StoreError> {
    let wallet = WalletId(engine.mint());
    let at = engine.clock().now();
    store::insert(conn, (tenant, wallet), name, currency, livemode, at).await?;
    ledger::open_accounts(conn, engine, (tenant, wallet), currency, livemode).await?;
    Ok(wallet)
}

/// Grants credit: a lot, its grant settlement, and the transfer funding → available, or goodwill →
/// available for credit that is given away. A repeat under the same key answers with the first.
///
/// # Errors
/// [`GrantError`]; the transaction must be rolled back.
pub async fn grant(
    conn: &mut PgConnection,
    engine: &Engine,
    grant: &Grant,
) -> Result<Granted, GrantError> {
    if !grant.amount.is_positive() {
        return Err(GrantError::NotPositive(grant.amount));
    }
    let wallet = (grant.tenant, grant.wallet);
    let locked = ledger::lock(conn, &[wallet], &[]).await?;
    let funds = locked
        .get(grant.tenant, grant.wallet)
        .ok_or(GrantError::UnknownWallet(grant.wallet))?;
    if let Some((known, granted)) = store::granted(conn, grant.tenant, &grant.key).await? {
        return if known.is_of(grant) {
            Ok(granted)
        } else {
            let (key, lot) = (grant.key.clone(), granted.lot);
            Err(GrantError::KeyReused { key, lot })
        };
    }
    let livemode = funds.livemode;
    // Refuses another currency before anything is written.
    funds
        .available()
        .and_then(|available| available.plus(grant.amount))
        .map_err(PostError::from)?;
    let now = engine.clock().now();
    if grant.expires_at.is_some_and(|expiry| expiry <= now) {
        return Err(GrantError::Expired);
    }
    let lot = LotId(engine.mint());
    store::insert_lot(conn, lot, grant, livemode, now).await?;
    let (phase, version) = (Phase::Grant, 1);
    let mut snapshot = json!({ "note": grant.note, "expires_at": grant.expires_at });
    let entry_type = match grant.action {
        Some(action) => {
            snapshot["action"] = json!(action);
            EntryType::Goodwill
        }
        None => EntryType::Grant,
    };
    let posting = Posting {
        key: SettlementKey {
            tenant: grant.tenant,
            subject: Subject::Lot(lot),
            phase,
            version,
        },
        wallet: grant.wallet,
        effect: Effect {
            phase,
            version,
            amount: grant.amount,
            entries: vec![Entry {
                entry_type,
                amount: grant.amount,
            }],
            snapshot,
        },
        event: None,
    };
    let settlements = ledger::post(conn, engine, locked, &[posting], now).await?;
    let [settlement] = settlements[..] else {
        let error = "one posting makes one settlement";
        return Err(StoreError::inconsistent("settlements", "settlement_id", error).into());
    };
    Ok(Granted { lot, settlement })
}

/// What a key credited before.
struct Known {
    wallet: WalletId,
    amount: Amount,
    expires_at: Option<DateTime<Utc>>,
}

impl Known {
    /// Whether a grant asks for the same again; the words beside it may differ.
    fn is_of(&self, grant: &Grant) -> bool {
        (self.wallet, self.amount, self.expires_at)
            == (grant.wallet, grant.amount, grant.expires_at)
    }
}

/// Stops spending. The wallet's lock is taken first, so a submission either finished before or sees it.
///
/// Returns whether the wallet exists; freezing a frozen wallet keeps the first reason.
///
/// # Errors
/// [`StoreError`].
pub async fn freeze(
    conn: &mut PgConnection,
    engine: &Engine,
    wallet: (TenantId, WalletId),
    reason: &str,
) -> Result<bool, StoreError> {
    let locked = ledger::lock(conn, &[wallet], &[]).await?;
    if locked.get(wallet.0, wallet.1).is_none() {
        return Ok(false);
    }
    store::freeze(conn, wallet, reason, engine.clock().now()).await?;
    Ok(true)
}

/// Lets spending go on. Returns whether the wallet exists.
///
/// # Errors
/// [`StoreError`].
pub async fn thaw(
    conn: &mut PgConnection,
    wallet: (TenantId, WalletId),
) -> Result<bool, StoreError> {
    store::thaw(conn, wallet).await
}

impl Engine {
    /// Grants credit in a transaction of its own.
    ///
    /// # Errors
    /// [`GrantError`]; nothing was written.
    pub async fn grant(&self, credit: &Grant) -> Result<LotId, GrantError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        let lot = grant(&mut tx, self, credit).await?.lot;
        tx.commit().await.map_err(StoreError::from)?;
        // The credit stands either way; what waits for it is looked at again within a minute anyway.
        if let Err(error) =
            settlement::wake_for_funds(self.pool(), credit.tenant, self.clock().now()).await
        {
            tracing::warn!(%error, tenant = %credit.tenant, "events that wait for funds were not woken");
        }
        Ok(lot)
    }
}
