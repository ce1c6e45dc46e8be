//! Actions: what operators do to wallets and jobs. An action is proposed under a key minted with its form, shown
//! as a dry run, and committed once on exactly what was shown; where the rules ask for it, a second
//! person approves first.
//!
//! Invariants: the same key is the same action; what is committed is what was shown, or nothing is; an
//! ended action stays as it ended; the checker is never the maker (`actions_maker_is_not_checker`). Each
//! step and its line in the audit log are one transaction.
//!
//! Locks: the action's row, then the job's, then the wallet's, then the audit log's.

mod dry_run;
mod store;
mod threshold;
mod transaction;
pub mod views;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    action::{self, Kind, NotYours, Request, State},
    canonical::{CanonicalError, Hash},
    id::{ActionId, OperatorId, SettlementId, TenantId, WalletId},
};
use serde_json::json;
use sqlx::PgConnection;

use self::{dry_run::ready, views::Action};
pub use self::{
    dry_run::{DryRun, Refusal, dry_run},
    threshold::set_threshold,
};
use crate::{
    Engine,
    audit::{self, By},
    case::{self, CaseError},
    error::StoreError,
    job::{
        self,
        correct::{self, CorrectError, Order},
    },
    ledger,
    wallet::{self, Grant, GrantError},
};

/// How long a draft or a waiting action may be decided on.
pub const LIFE: TimeDelta = TimeDelta::days(7);

/// Why an action did not go ahead. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// No such action or wallet.
    #[error("there is no such action")]
    Unknown,
    /// The key was used for something else.
    #[error("{0} was proposed with other content under the same key")]
    OtherRequest(ActionId),
    /// What was shown is not true any more.
    #[error("what the dry run showed has changed since")]
    Stale,
    /// There is nothing to do, or it cannot be done now.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The rules of two persons.
    #[error(transparent)]
    NotYours(#[from] NotYours),
    /// It has ended, or is not where this step begins.
    #[error("the action is {0}")]
    Ended(State),
    /// The reason is too short or too long.
    #[error("a refusal needs a reason of 10 to 500 characters")]
    NoReason,
    /// The credit could not be posted.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The case it decides is not there, or was decided before.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The job could not be corrected.
    #[error(transparent)]
    Correct(#[from] CorrectError),
    /// The request cannot be hashed.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ActionError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Proposes an action under its key. The same key with the same request, by the same person, is the
/// same action.
///
/// # Errors
/// [`ActionError::OtherRequest`], [`ActionError::Unknown`] when there is no such wallet.
pub async fn propose(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    request: &Request,
    by: By<'_>,
) -> Result<(), ActionError> {
    let wallet = ledger::views::wallet(conn, request.wallet)
        .await?
        .ok_or(ActionError::Unknown)?
        .line;
    let now = engine.clock().now();
    let hash = request.hash()?;
    if let Some(job) = request.job {
        let found = job::views::find(conn, wallet.tenant, wallet.livemode, job).await?;
        if found.is_none_or(|job| job.wallet != request.wallet) {
            return Err(ActionError::Unknown);
        }
        // Says when there is no such correction to take back.
        let of = (wallet.tenant, wallet.livemode);
        let order = Order { of, job, request };
        correct::preview(conn, order, wallet.available).await?;
        if let Some(conflict) = request.conflict
            && case::job_of(conn, conflict).await? != Some(job)
        {
            return Err(ActionError::Unknown);
        }
    }
    // The constraint knows a key within its tenant; a person may not use it for two.
    let known = views::find(conn, id).await?;
    if known.is_some_and(|known| known.tenant != wallet.tenant) {
        return Err(ActionError::OtherRequest(id));
    }
    let draft = store::Draft {
        id,
        tenant: wallet.tenant,
        currency: wallet.available.currency(),
        livemode: wallet.livemode,
        request,
        hash,
        by: by.operator,
        now,
        expires_at: now + LIFE,
    };
    if store::insert(conn, &draft).await? {
        let detail = json!({
            "action": request.kind,
            "wallet": request.wallet,
            "job": request.job,
            "undoes": request.undoes,
            "conflict": request.conflict.map(|conflict| conflict.to_string()),
            "amount": request.amount.map(|amount| amount.to_string()),
            "category": request.category,
        });
        return note(
            conn,
            engine,
            by,
            id,
            "action.propose",
            detail,
            Some(&request.reason),
        )
        .await;
    }
    let known = views::find(conn, id)
        .await?
        .ok_or(ActionError::OtherRequest(id))?;
    if known.request.hash()? == hash && known.requested_by.id == by.operator {
        Ok(())
    } else {
        Err(ActionError::OtherRequest(id))
    }
}

/// Commits a draft on exactly what `basis` was computed from: at once, or to wait for a second person.
/// Committing again answers with what came of the first time.
///
/// # Errors
/// [`ActionError`].
pub async fn commit(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    basis: Hash,
    by: By<'_>,
) -> Result<State, ActionError> {
    let action = lock(conn, id).await?;
    if action.state == State::Waiting || action.state == State::Done {
        return Ok(action.state);
    }
    action::may_withdraw(by.operator, action.requested_by.id)?;
    let now = engine.clock().now();
    let run = ready(conn, &action, basis, now).await?;
    if run.needs_approval {
        store::wait(conn, &action, basis).await?;
        note(conn, engine, by, id, "action.submit", json!({}), None).await?;
        return Ok(State::Waiting);
    }
    carry_out(conn, engine, &action, &run, None, by).await
}

/// Approves a waiting action and carries it out, if it would still do what its maker saw.
///
/// # Errors
/// [`ActionError`].
pub async fn approve(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    by: By<'_>,
) -> Result<State, ActionError> {
    let action = lock(conn, id).await?;
    match action.state {
        State::Waiting => {}
        State::Done
            if action
                .approved_by
                .as_ref()
                .is_some_and(|one| one.id == by.operator) =>
        {
            return Ok(State::Done);
        }
        other => return Err(ActionError::Ended(other)),
    }
    action::may_check(by.operator, action.requested_by.id)?;
    let now = engine.clock().now();
    let basis = action.basis.ok_or(ActionError::Stale)?;
    let run = ready(conn, &action, basis, now).await?;
    carry_out(conn, engine, &action, &run, Some(by.operator), by).await
}

/// Refuses a waiting action, saying why.
///
/// # Errors
/// [`ActionError`].
pub async fn refuse(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    reason: &str,
    by: By<'_>,
) -> Result<State, ActionError> {
    let reason = action::reason(reason).ok_or(ActionError::NoReason)?;
    let action = lock(conn, id).await?;
    if action.state != State::Waiting {
        return Err(ActionError::Ended(action.state));
    }
    action::may_check(by.operator, action.requested_by.id)?;
    end(conn, engine, &action, State::Refused, Some(reason), by).await
}

/// Takes an action back, as its maker.
///
/// # Errors
/// [`ActionError`].
pub async fn withdraw(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    by: By<'_>,
) -> Result<State, ActionError> {
    let action = lock(conn, id).await?;
    action::may_withdraw(by.operator, action.requested_by.id)?;
    match action.state {
        State::Withdrawn => Ok(State::Withdrawn),
        State::Draft | State::Waiting => {
            end(conn, engine, &action, State::Withdrawn, None, by).await
        }
        ended => Err(ActionError::Ended(ended)),
    }
}

/// Ends what nobody decided in time. Returns how many there were.
///
/// # Errors
/// [`StoreError`].
pub async fn expire(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<u64, StoreError> {
    store::expire(conn, now).await
}

async fn lock(conn: &mut PgConnection, id: ActionId) -> Result<Action, ActionError> {
    if !store::lock(conn, id).await? {
        return Err(ActionError::Unknown);
    }
    // Read after the lock is held: the statement that waited for it saw an older state.
    views::find(conn, id).await?.ok_or(ActionError::Unknown)
}

/// Does what the action asks for.
async fn apply(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
) -> Result<Option<SettlementId>, ActionError> {
    let request = &action.request;
    if let Some(order) = action.order() {
        return Ok(Some(
            correct::carry_out(conn, engine, order, action.id).await?,
        ));
    }
    let wallet: (TenantId, WalletId) = (action.tenant, request.wallet);
    match (request.kind, request.amount) {
        (Kind::Goodwill, Some(amount)) => {
            let credit = Grant {
                tenant: action.tenant,
                wallet: request.wallet,
                key: action.id.to_string(),
                amount,
                expires_at: request.lot_expires_at,
                note: request.reason.clone(),
                action: Some(action.id),
            };
            Ok(Some(wallet::grant(conn, engine, &credit).await?.settlement))
        }
        (Kind::Freeze, _) => {
            wallet::freeze(conn, engine, wallet, &request.reason).await?;
            Ok(None)
        }
        (Kind::Unfreeze, _) => {
            wallet::thaw(conn, wallet).await?;
            Ok(None)
        }
        // Neither the form nor the database lets these through.
        (Kind::Goodwill, None)
        | (Kind::Charge | Kind::Credit | Kind::Reverse | Kind::Undo | Kind::Release, _) => {
            Err(ActionError::Unknown)
        }
    }
}

/// Does what the action asks for, and ends it. That it needed an approval is written as the dry run
/// says, so the database refuses it where `approved_by` was left out.
async fn carry_out(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
    run: &DryRun,
    approved_by: Option<OperatorId>,
    by: By<'_>,
) -> Result<State, ActionError> {
    let settlement = apply(conn, engine, action).await?;
    if let Some(conflict) = action.request.conflict {
        case::accept_other(conn, engine, conflict, &action.request.reason, by).await?;
    }
    let done = store::Done {
        action,
        run,
        approved_by,
        decided_by: by.operator,
        settlement,
        at: engine.clock().now(),
    };
    store::finish(conn, &done).await?;
    let verb = match approved_by {
        Some(_) => "action.approve",
        None => "action.commit",
    };
    let detail = json!({ "settlement": settlement });
    note(conn, engine, by, action.id, verb, detail, None).await?;
    Ok(State::Done)
}

async fn end(
    conn: &mut PgConnection,
    engine: &Engine,
    action: &Action,
    state: State,
    reason: Option<&str>,
    by: By<'_>,
) -> Result<State, ActionError> {
    store::end(
        conn,
        action,
        state,
        reason,
        by.operator,
        engine.clock().now(),
    )
    .await?;
    let verb = match state {
        State::Refused => "action.refuse",
        _ => "action.withdraw",
    };
    note(conn, engine, by, action.id, verb, json!({}), reason).await?;
    Ok(state)
}

async fn note(
    conn: &mut PgConnection,
    engine: &Engine,
    by: By<'_>,
    id: ActionId,
    verb: &str,
    detail: serde_json::Value,
    reason: Option<&str>,
) -> Result<(), ActionError> {
    let object = id.to_string();
    let line = by.did(verb, &object, detail, reason);
    Ok(audit::record(conn, engine, &line).await?)
}
