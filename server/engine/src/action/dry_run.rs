//! What committing an action would do, on the wallet and the job as they stand.

use chrono::{DateTime, Utc};
use domain::{
    action::{Kind, State, Target},
    canonical::Hash,
    id::WalletId,
    job::Job,
    money::Amount,
    settlement::{Entry, EntryType},
};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::{ActionError, store, views::Action};
use crate::{
    case,
    freeze::{
        self, Of,
        views::{Freeze, HeldBack},
    },
    job::correct::{self, Hindrance, Order, Preview},
    ledger, wallet,
};

/// Why an action cannot be committed as things stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// Already frozen.
    #[error("it is frozen already")]
    Frozen,
    /// Not frozen.
    #[error("it is not frozen")]
    NotFrozen,
    /// The credit would expire before it could be spent.
    #[error("the credit would have expired already")]
    Expired,
    /// Someone has decided between the contents.
    #[error("someone has decided between the contents of that event")]
    Decided,
    /// The job stands in the way.
    #[error(transparent)]
    Job(#[from] Hindrance),
}

/// Balances of a wallet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Funds {
    /// Available.
    pub available: Amount,
    /// On hold.
    pub held: Amount,
}

/// What committing an action would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DryRun {
    /// Balances before; `None` for a freeze of a tenant or a source.
    pub funds: Option<Funds>,
    /// What such a freeze holds back now.
    pub held_back: HeldBack,
    /// Since when it is frozen.
    pub frozen_at: Option<DateTime<Utc>>,
    /// What would be posted.
    pub entries: Vec<Entry>,
    /// What the job is charged before and afterwards, for actions on jobs.
    pub charge: Option<(Amount, Amount)>,
    /// How much the action moves.
    pub moved: Option<Amount>,
    /// The threshold in force, for actions that have one.
    pub above: Option<Decimal>,
    /// Whether a second person has to approve.
    pub needs_approval: bool,
    /// Why it cannot be committed, if it cannot.
    pub refusal: Option<Refusal>,
    /// Hash of everything the decision rests on: the request, the threshold, the freeze, and the job with
    /// its charge and versions. Balances are not in it: they move all the time.
    pub basis: Hash,
}

/// What is known of the part an action moves.
#[derive(Default)]
struct Effects {
    entries: Vec<Entry>,
    charge: Option<(Amount, Amount)>,
    moved: Option<Amount>,
    refusal: Option<Refusal>,
    /// What of the job the decision rests on.
    job: Value,
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
    match (action.request.target, Of::whole(action.request.target)) {
        (Target::Wallet(wallet), _) => of_funds(conn, action, wallet, now).await,
        (_, Some(of)) => of_whole(conn, action, of).await,
        (_, None) => Err(ActionError::Unknown),
    }
}

/// An action on a wallet, or on a job of it.
async fn of_funds(
    conn: &mut PgConnection,
    action: &Action,
    id: WalletId,
    now: DateTime<Utc>,
) -> Result<DryRun, ActionError> {
    let request = &action.request;
    let livemode = action.livemode.ok_or(ActionError::Unknown)?;
    let wallet = wallet::views::find(conn, action.tenant, livemode, id, now)
        .await?
        .ok_or(ActionError::Unknown)?;
    let currency = wallet.available.currency();
    let above = match request.kind.has_threshold() {
        true => store::threshold(conn, request.kind, currency).await?,
        false => None,
    };
    let mut effects = match action.order() {
        Some(order) => {
            let spendable = match wallet.frozen_at {
                Some(_) => Amount::zero(currency),
                None => wallet.spendable,
            };
            of_job(correct::preview(conn, order, spendable).await?)
        }
        None => of_wallet(action, wallet.frozen_at, now),
    };
    if let Some(conflict) = request.conflict
        && case::decided_by(conn, conflict).await?.is_some()
    {
        effects.refusal = Some(Refusal::Decided);
    }
    let funds = Funds {
        available: wallet.available,
        held: wallet.held,
    };
    let basis = basis(action, wallet.frozen_at, above, &effects)?;
    Ok(DryRun {
        funds: Some(funds),
        held_back: HeldBack::default(),
        frozen_at: wallet.frozen_at,
        above,
        needs_approval: request.kind.needs_approval(effects.moved, above),
        basis,
        entries: effects.entries,
        charge: effects.charge,
        moved: effects.moved,
        refusal: effects.refusal,
    })
}

/// A freeze of a tenant or a source, or its lift. It rests on the freeze alone: what it holds back grows.
async fn of_whole(conn: &mut PgConnection, action: &Action, of: Of) -> Result<DryRun, ActionError> {
    let known: Option<Freeze> = freeze::views::find(conn, of).await?;
    let frozen_at = known.map(|known| known.since);
    let effects = Effects {
        refusal: already(action.request.kind, frozen_at),
        ..Effects::default()
    };
    Ok(DryRun {
        funds: None,
        held_back: freeze::views::held_back(conn, of).await?,
        frozen_at,
        above: None,
        needs_approval: action.request.kind.needs_approval(None, None),
        basis: basis(action, frozen_at, None, &effects)?,
        entries: effects.entries,
        charge: effects.charge,
        moved: effects.moved,
        refusal: effects.refusal,
    })
}

fn basis(
    action: &Action,
    frozen_at: Option<DateTime<Utc>>,
    above: Option<Decimal>,
    effects: &Effects,
) -> Result<Hash, ActionError> {
    Ok(Hash::of(&json!({
        "request": action.request.hash()?.to_string(),
        "frozen_at": frozen_at,
        "above": above.map(|above| above.normalize().to_string()),
        "job": effects.job,
    }))?)
}

/// Whether there is anything to freeze, or to lift.
fn already(kind: Kind, frozen_at: Option<DateTime<Utc>>) -> Option<Refusal> {
    match kind {
        Kind::Freeze if frozen_at.is_some() => Some(Refusal::Frozen),
        Kind::Unfreeze if frozen_at.is_none() => Some(Refusal::NotFrozen),
        _ => None,
    }
}

fn of_wallet(action: &Action, frozen_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Effects {
    let request = &action.request;
    let has_expired = request.lot_expires_at.is_some_and(|expiry| expiry <= now);
    let refusal = match request.kind {
        Kind::Goodwill if has_expired => Some(Refusal::Expired),
        kind => already(kind, frozen_at),
    };
    let entry = |amount| Entry {
        entry_type: EntryType::Goodwill,
        amount,
    };
    Effects {
        entries: request.amount.map(entry).into_iter().collect(),
        moved: request.amount,
        refusal,
        ..Effects::default()
    }
}

fn of_job(preview: Preview) -> Effects {
    let Preview { before, outcome } = preview;
    let job = basis_of(&before);
    match outcome {
        Ok((effect, after)) => Effects {
            entries: effect.entries,
            charge: Some((before.captured, after.captured)),
            moved: Some(effect.amount),
            refusal: None,
            job,
        },
        Err(hindrance) => Effects {
            charge: Some((before.captured, before.captured)),
            refusal: Some(hindrance.into()),
            job,
            ..Effects::default()
        },
    }
}

/// Everything of a job that a correction of it rests on.
fn basis_of(job: &Job) -> Value {
    let text = |amount: Amount| amount.value().normalize().to_string();
    let versions = [
        job.versions.capture,
        job.versions.adjustment,
        job.versions.reversal,
    ];
    json!({
        "state": job.state,
        "held": text(job.held),
        "captured": text(job.captured),
        "receivable": text(job.receivable),
        "correction": text(job.correction.net),
        "reversed": job.correction.reversed,
        "versions": versions.map(|version| version.to_string()),
    })
}

impl Action {
    /// The correction it asks for, when it is about a job.
    pub(super) fn order(&self) -> Option<Order<'_>> {
        let of = (self.tenant, self.livemode?);
        self.request.job.map(|job| Order {
            of,
            job,
            request: &self.request,
        })
    }
}

/// The dry run under the locks of the event it decides on, the job and the wallet, or of the freezes, if the
/// action may go ahead on it.
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
    if let Some(conflict) = action.request.conflict {
        case::lock(conn, conflict).await?;
    }
    if let Some(order) = action.order() {
        correct::lock(conn, order).await?;
    }
    match action.request.target {
        Target::Wallet(wallet) => {
            ledger::lock(conn, &[(action.tenant, wallet)], &[]).await?;
        }
        Target::Tenant(_) | Target::Source(_) => freeze::hold(conn).await?,
    }
    let run = dry_run(conn, action, now).await?;
    match run.refusal {
        _ if run.basis != basis => Err(ActionError::Stale),
        Some(refusal) => Err(refusal.into()),
        None => Ok(run),
    }
}
