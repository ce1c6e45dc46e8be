//! What committing an action would do, on the wallet as it stands.

use chrono::{DateTime, Utc};
use domain::{
    action::{Kind, State},
    canonical::Hash,
    money::Amount,
    settlement::EntryType,
};
use rust_decimal::Decimal;
use serde_json::json;
use sqlx::PgConnection;

use super::{ActionError, store, views::Action};
use crate::ledger;

/// Why an action cannot be committed as things stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Already frozen.
    #[error("the wallet is frozen already")]
    Frozen,
    /// Not frozen.
    #[error("the wallet is not frozen")]
    NotFrozen,
    /// The credit would expire before it could be spent.
    #[error("the credit would have expired already")]
    Expired,
}

/// What committing an action would do, on the wallet as it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DryRun {
    /// Available before.
    pub available: Amount,
    /// On hold; no action here moves it.
    pub held: Amount,
    /// Since when spending is stopped.
    pub frozen_at: Option<DateTime<Utc>>,
    /// What would be posted.
    pub entry: Option<(EntryType, Amount)>,
    /// The threshold in force, for actions with an amount.
    pub above: Option<Decimal>,
    /// Whether a second person has to approve.
    pub needs_approval: bool,
    /// Why it cannot be committed, if it cannot.
    pub refusal: Option<Refusal>,
    /// Hash of everything the decision rests on. Balances are not in it: they move all the time, and no
    /// action here depends on them.
    pub basis: Hash,
}

/// Works out what committing would do.
///
/// # Errors
/// [`ActionError`].
pub async fn dry_run(
    conn: &mut PgConnection,
    action: &Action,
    now: DateTime<Utc>,
) -> Result<DryRun, ActionError> {
    let request = &action.request;
    let wallet = ledger::views::wallet(conn, request.wallet)
        .await?
        .ok_or(ActionError::Unknown)?
        .line;
    let above = match request.amount {
        Some(amount) => store::threshold(conn, request.kind, amount.currency()).await?,
        None => None,
    };
    let refusal = match request.kind {
        Kind::Freeze if wallet.frozen_at.is_some() => Some(Refusal::Frozen),
        Kind::Unfreeze if wallet.frozen_at.is_none() => Some(Refusal::NotFrozen),
        Kind::Goodwill if request.lot_expires_at.is_some_and(|expiry| expiry <= now) => {
            Some(Refusal::Expired)
        }
        Kind::Goodwill | Kind::Freeze | Kind::Unfreeze => None,
    };
    let basis = Hash::of(&json!({
        "request": request.hash()?.to_string(),
        "frozen_at": wallet.frozen_at,
        "above": above.map(|above| above.normalize().to_string()),
    }))?;
    Ok(DryRun {
        available: wallet.available,
        held: wallet.held,
        frozen_at: wallet.frozen_at,
        entry: request.amount.map(|amount| (EntryType::Goodwill, amount)),
        above,
        needs_approval: request.needs_approval(above),
        refusal,
        basis,
    })
}

/// The dry run under the wallet's lock, if the action may go ahead on it.
pub(super) async fn ready(
    conn: &mut PgConnection,
    action: &Action,
    basis: Hash,
    now: DateTime<Utc>,
) -> Result<DryRun, ActionError> {
    if action.state.is_final() {
        return Err(ActionError::Ended(action.state));
    }
    if action.expires_at <= now {
        return Err(ActionError::Ended(State::Expired));
    }
    ledger::lock(conn, &[(action.tenant, action.request.wallet)], &[]).await?;
    let run = dry_run(conn, action, now).await?;
    match run.refusal {
        _ if run.basis != basis => Err(ActionError::Stale),
        Some(refusal) => Err(refusal.into()),
        None => Ok(run),
    }
}
