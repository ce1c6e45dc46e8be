//! Cases: what a machine cannot decide about an event, and what a person decided.
//!
//! Nothing here moves money; taking the other content for the right one is an action, which decides the case
//! when it is carried out. Keeping the first content says that it stands; dismissing says that an event
//! changes nothing; replaying has it looked at again under its own identity, so that whatever was settled
//! before cannot settle twice.
//!
//! Locks: the event's row, then the audit log's.

mod stake;
mod store;
pub mod views;

use domain::{
    event::{CaseDecision, EventState},
    id::{EventId, JobId},
};
use serde_json::json;
use sqlx::PgConnection;

pub use self::stake::{Stake, stake};
use crate::{
    Engine,
    audit::{self, By},
    error::StoreError,
};

/// What is decided about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// What came first stands, against this conflict.
    KeepFirst(i64),
    /// The event changes nothing.
    Dismiss,
    /// The event is looked at again.
    Replay,
}

impl Verdict {
    /// Its word.
    pub const fn decision(self) -> CaseDecision {
        match self {
            Self::KeepFirst(_) => CaseDecision::KeepFirst,
            Self::Dismiss => CaseDecision::Dismiss,
            Self::Replay => CaseDecision::Replay,
        }
    }
}

/// Why a decision did not stand. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// No such event or conflict.
    #[error("there is no such case")]
    Unknown,
    /// The reason is too short or too long.
    #[error("a decision needs a reason of 10 to 500 characters")]
    NoReason,
    /// Someone decided before.
    #[error("{by} decided this before: {decision}")]
    Decided {
        /// Who.
        by: String,
        /// What.
        decision: CaseDecision,
    },
    /// The event needs nobody's decision.
    #[error("the event is {0}, so nothing is to be decided about it")]
    NotOpen(EventState),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Decides a case, saying why.
///
/// # Errors
/// [`CaseError`].
pub async fn decide(
    conn: &mut PgConnection,
    engine: &Engine,
    event: EventId,
    verdict: Verdict,
    reason: &str,
    by: By<'_>,
) -> Result<(), CaseError> {
    let reason = domain::action::reason(reason).ok_or(CaseError::NoReason)?;
    let open = store::lock(conn, event).await?.ok_or(CaseError::Unknown)?;
    let now = engine.clock().now();
    let conflict = match verdict {
        Verdict::KeepFirst(conflict) => {
            if !store::is_conflict_of(conn, event, conflict).await? {
                return Err(CaseError::Unknown);
            }
            Some(conflict)
        }
        Verdict::Dismiss | Verdict::Replay => {
            if !open.state.is_case() {
                return Err(not_open(conn, event, open.state).await?);
            }
            None
        }
    };
    let row = store::Decided {
        event,
        livemode: open.livemode,
        conflict,
        decision: verdict.decision(),
        reason,
        by: by.operator,
        at: now,
    };
    if !store::insert(conn, &row).await? {
        return Err(decided(conn, event, conflict).await?);
    }
    match verdict {
        Verdict::KeepFirst(_) => {}
        Verdict::Dismiss => store::dismiss(conn, event, now).await?,
        Verdict::Replay => store::replay(conn, event, now).await?,
    }
    let verb = match verdict {
        Verdict::KeepFirst(_) => "case.keep_first",
        Verdict::Dismiss => "case.dismiss",
        Verdict::Replay => "case.replay",
    };
    let object = event.to_string();
    let detail =
        json!({ "conflict": conflict.map(|conflict| conflict.to_string()), "was": open.state });
    let line = by.did(verb, &object, detail, Some(reason));
    Ok(audit::record(conn, engine, &line).await?)
}

/// The job that a conflict is about, once that is known.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn job_of(
    conn: &mut PgConnection,
    conflict: i64,
) -> Result<Option<JobId>, StoreError> {
    let found = store::event_of(conn, conflict).await?;
    Ok(found.and_then(|(_, job)| job))
}

/// Locks the event of a conflict, which comes before its job's lock.
///
/// # Errors
/// [`CaseError::Unknown`], or a failure of storage.
pub(crate) async fn lock(conn: &mut PgConnection, conflict: i64) -> Result<(), CaseError> {
    let (event, _) = store::event_of(conn, conflict)
        .await?
        .ok_or(CaseError::Unknown)?;
    store::lock(conn, event).await?;
    Ok(())
}

/// Who has decided on a conflict, if someone has.
///
/// # Errors
/// [`CaseError::Unknown`], or a failure of storage.
pub(crate) async fn decided_by(
    conn: &mut PgConnection,
    conflict: i64,
) -> Result<Option<String>, CaseError> {
    let (event, _) = store::event_of(conn, conflict)
        .await?
        .ok_or(CaseError::Unknown)?;
    let mut all = views::decisions(conn, event).await?;
    all.retain(|one| one.conflict == Some(conflict));
    Ok(all.pop().map(|one| one.by))
}

/// Notes that the other content was taken for the right one. The caller has brought the charge to it, in the
/// same transaction and under the event's lock.
///
/// # Errors
/// [`CaseError`]; the transaction must be rolled back.
pub(crate) async fn accept_other(
    conn: &mut PgConnection,
    engine: &Engine,
    conflict: i64,
    reason: &str,
    by: By<'_>,
) -> Result<(), CaseError> {
    let (event, _) = store::event_of(conn, conflict)
        .await?
        .ok_or(CaseError::Unknown)?;
    let open = store::lock(conn, event).await?.ok_or(CaseError::Unknown)?;
    let row = store::Decided {
        event,
        livemode: open.livemode,
        conflict: Some(conflict),
        decision: CaseDecision::AcceptOther,
        reason,
        by: by.operator,
        at: engine.clock().now(),
    };
    if store::insert(conn, &row).await? {
        Ok(())
    } else {
        Err(decided(conn, event, Some(conflict)).await?)
    }
}

async fn not_open(
    conn: &mut PgConnection,
    event: EventId,
    state: EventState,
) -> Result<CaseError, CaseError> {
    let mut about_it = views::decisions(conn, event).await?;
    about_it.retain(|one| one.conflict.is_none());
    Ok(match about_it.pop() {
        Some(last) => CaseError::Decided {
            by: last.by,
            decision: last.decision,
        },
        None => CaseError::NotOpen(state),
    })
}

async fn decided(
    conn: &mut PgConnection,
    event: EventId,
    conflict: Option<i64>,
) -> Result<CaseError, CaseError> {
    let all = views::decisions(conn, event).await?;
    let first = all
        .into_iter()
        .find(|one| one.conflict == conflict)
        .ok_or(CaseError::Unknown)?;
    Ok(CaseError::Decided {
        by: first.by,
        decision: first.decision,
    })
}

impl Engine {
    /// [`decide`] in a transaction of its own.
    ///
    /// # Errors
    /// [`CaseError`].
    pub async fn decide_case(
        &self,
        event: EventId,
        verdict: Verdict,
        reason: &str,
        by: By<'_>,
    ) -> Result<(), CaseError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        decide(&mut tx, self, event, verdict, reason, by).await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }
}
