//! Corrections of jobs by people: what one would do, and doing it.
//!
//! Invariants: the preview and the posting come from the same decision; what was corrected is kept in
//! `job_corrections`, so that each correction is taken back at most once and `jobs.correction` can be
//! added up again; nothing here touches what was billed, so usage corrected later still moves the charge
//! by its own difference.

use domain::{
    action::{Kind, Request},
    decide::{Change, Correct, Obstacle, correct},
    id::{ActionId, JobId, SettlementId, TenantId},
    job::Job,
    money::Amount,
    settlement::{Effect, SettlementKey, Subject},
};
use serde_json::json;
use sqlx::PgConnection;

use super::{LockedJob, store};
use crate::{
    Engine,
    error::StoreError,
    ledger::{self, PostError, Posting},
};

/// Why a job cannot be corrected.
#[derive(Debug, thiserror::Error)]
pub enum CorrectError {
    /// No such job, or no such correction of it.
    #[error("there is no such job or correction")]
    Unknown,
    /// The correction was taken back before.
    #[error("that correction was taken back already")]
    Undone,
    /// The job stands in the way.
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    /// Posting failed.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which job is corrected, and how.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Its tenant and mode.
    pub of: (TenantId, bool),
    /// The job.
    pub job: JobId,
    /// What was asked for.
    pub request: &'a Request,
}

/// What a correction would do to a job as it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct Preview {
    /// The job before.
    pub before: Job,
    /// What would be posted, and the job afterwards; or what stands in the way.
    pub outcome: Result<(Effect, Job), Hindrance>,
}

/// What stands in the way of a correction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Hindrance {
    /// The job itself.
    #[error(transparent)]
    Obstacle(#[from] Obstacle),
    /// It was taken back before.
    #[error("that correction was taken back already")]
    Undone,
}

/// Takes the job's lock, which comes before the wallet's.
///
/// # Errors
/// [`CorrectError::Unknown`], or a failure of storage.
pub async fn lock(conn: &mut PgConnection, order: Order<'_>) -> Result<(), CorrectError> {
    let locked = store::lock(conn, order.of, order.job).await?;
    locked.map(|_| ()).ok_or(CorrectError::Unknown)
}

/// Works out what a correction would do. `spendable` is what the wallet can pay now.
///
/// # Errors
/// [`CorrectError::Unknown`], or a failure of storage.
pub async fn preview(
    conn: &mut PgConnection,
    order: Order<'_>,
    spendable: Amount,
) -> Result<Preview, CorrectError> {
    let found = store::read(conn, order.of, order.job).await?;
    let job = found.ok_or(CorrectError::Unknown)?.job;
    let outcome = match wanted(conn, order, &job).await? {
        Ok(wanted) => correct(&job, wanted, spendable)
            .map_err(PostError::from)?
            .map(single)
            .map_err(Hindrance::from),
        Err(hindrance) => Err(hindrance),
    };
    Ok(Preview {
        before: job,
        outcome,
    })
}

/// The one effect of a correction.
fn single(change: Change) -> (Effect, Job) {
    let Change { job, mut effects } = change;
    (effects.remove(0), job)
}

/// Reads a request as what the domain knows.
async fn wanted(
    conn: &mut PgConnection,
    order: Order<'_>,
    job: &Job,
) -> Result<Result<Correct, Hindrance>, CorrectError> {
    let currency = job.quote.currency();
    let nothing = Amount::zero(currency);
    let amount = order.request.amount.unwrap_or(nothing);
    Ok(Ok(match order.request.kind {
        Kind::Charge => Correct::Adjust(amount),
        Kind::Credit => Correct::Adjust(nothing.minus(amount).map_err(PostError::from)?),
        Kind::Reverse => Correct::Reverse,
        Kind::Release => Correct::Release,
        Kind::Undo => {
            let of = (order.of.0, order.job);
            let settlement = order.request.undoes.ok_or(CorrectError::Unknown)?;
            let earlier = store::correction(conn, of, settlement)
                .await?
                .ok_or(CorrectError::Unknown)?;
            match (earlier.net, earlier.reversed) {
                _ if earlier.is_undone => return Ok(Err(Hindrance::Undone)),
                (Some(net), _) => {
                    Correct::UndoAdjust(Amount::exact(net, currency).map_err(PostError::from)?)
                }
                (None, Some(true)) => Correct::UndoReverse,
                (None, _) => Correct::Reverse,
            }
        }
        Kind::Goodwill | Kind::Freeze | Kind::Unfreeze => return Err(CorrectError::Unknown),
    }))
}

/// Corrects a job: settlement, transfers, balances, job and what was corrected, inside the caller's
/// transaction, which holds the locks of the job and then of its wallet.
///
/// # Errors
/// [`CorrectError`]; the transaction must be rolled back.
pub(crate) async fn carry_out(
    conn: &mut PgConnection,
    engine: &Engine,
    order: Order<'_>,
    action: ActionId,
) -> Result<SettlementId, CorrectError> {
    let locked = store::lock(conn, order.of, order.job).await?;
    let locked = locked.ok_or(CorrectError::Unknown)?;
    let wallet = (locked.tenant, locked.wallet);
    let funds = ledger::lock(conn, &[wallet], &[(locked.tenant, locked.id)]).await?;
    let now = engine.clock().now();
    let known = funds.get(wallet.0, wallet.1).ok_or(CorrectError::Unknown)?;
    let spendable = if known.frozen {
        Amount::zero(known.currency)
    } else {
        known.spendable(now).map_err(PostError::from)?
    };
    let (mut effect, after) = match preview(conn, order, spendable).await?.outcome {
        Ok(outcome) => outcome,
        Err(Hindrance::Undone) => return Err(CorrectError::Undone),
        Err(Hindrance::Obstacle(obstacle)) => return Err(obstacle.into()),
    };
    effect.snapshot["action"] = json!(action);
    effect.snapshot["reason"] = json!(order.request.reason);
    store::save(conn, &locked, &after, ("operator", None), now).await?;
    let posting = Posting {
        key: SettlementKey {
            tenant: locked.tenant,
            subject: Subject::Job(locked.id),
            phase: effect.phase,
            version: effect.version,
        },
        wallet: locked.wallet,
        effect,
        event: None,
    };
    let ids = ledger::post(conn, engine, funds, &[posting], now).await?;
    let [settlement] = ids[..] else {
        let error = "one posting makes one settlement";
        return Err(StoreError::inconsistent("settlements", "settlement_id", error).into());
    };
    note(conn, order, &locked, &after, (settlement, action)).await?;
    Ok(settlement)
}

/// Keeps what was corrected beside its settlement. Giving up a hold corrects no charge.
async fn note(
    conn: &mut PgConnection,
    order: Order<'_>,
    locked: &LockedJob,
    after: &Job,
    (settlement, action): (SettlementId, ActionId),
) -> Result<(), CorrectError> {
    let (before, after) = (locked.job.correction, after.correction);
    if before == after {
        return Ok(());
    }
    let reversed = (before.reversed != after.reversed).then_some(after.reversed);
    let net = match reversed {
        Some(_) => None,
        None => Some(after.net.minus(before.net).map_err(PostError::from)?),
    };
    let new = store::NewCorrection {
        settlement,
        action,
        net,
        reversed,
        undoes: order.request.undoes,
    };
    store::insert_correction(conn, (locked.tenant, locked.id), &new).await?;
    Ok(())
}
