//! Actions: what operators do to wallets and jobs, and freezes of tenants and sources. An action is proposed under a key minted with its form, shown
//! as a dry run, and committed once on exactly what was shown; where the rules ask for it, a second
//! person approves first.
//!
//! Invariants: the same key is the same action; what is committed is what was shown, or nothing is; an
//! ended action stays as it ended; the checker is never the maker (`actions_maker_is_not_checker`). Each
//! step and its line in the audit log are one transaction.
//!
//! Locks: the action's row, then the freezes' lock or the job's and the wallet's, then the audit log's.

mod apply;
mod dry_run;
mod place;
mod store;
mod threshold;
mod transaction;
pub mod views;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    action::{self, NotYours, Request, State},
    canonical::{CanonicalError, Hash},
    id::{ActionId, OperatorId, TenantId},
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
    job::correct::CorrectError,
    wallet::GrantError,
};

/// Under which tenant actions about sources are kept: no tenant's, since a source serves many.
pub const NO_TENANT: TenantId = TenantId(uuid::Uuid::nil());
/// How long a draft or a waiting action may be decided on.
pub const LIFE: TimeDelta = TimeDelta::days(7);

/// Why an action did not go ahead. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ActionError {
    /// No such action, or nothing that it could be about.
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
/// [`ActionError::OtherRequest`], [`ActionError::Unknown`] when there is nothing it could be about.
pub async fn propose(
    conn: &mut PgConnection,
    engine: &Engine,
    id: ActionId,
    request: &Request,
    by: By<'_>,
) -> Result<(), ActionError> {
    let place = place::find(conn, request).await?;
    let now = engine.clock().now();
    let hash = request.hash()?;
    // The constraint knows a key within its tenant; a person may not use it for two.
    let known = views::find(conn, id).await?;
    if known.is_some_and(|known| known.tenant != place.tenant) {
        return Err(ActionError::OtherRequest(id));
    }
    let draft = store::Draft {
        id,
        place,
        request,
        hash,
        by: by.operator,
        now,
        expires_at: now + LIFE,
    };
    if store::insert(conn, &draft).await? {
        let mut detail = json!({
            "action": request.kind,
            "job": request.job,
            "undoes": request.undoes,
            "conflict": request.conflict.map(|conflict| conflict.to_string()),
            "amount": request.amount.map(|amount| amount.to_string()),
            "category": request.category,
        });
        for (what, id) in json!(request.target).as_object().into_iter().flatten() {
            detail[what] = id.clone();
        }
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
    let settlement = apply::apply(conn, engine, action).await?;
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
