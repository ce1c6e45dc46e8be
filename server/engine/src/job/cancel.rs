//! Cancelling: a request of the customer, not a verdict. Work that was never dispatched is released at
//! once; otherwise the hold stays until the provider has spoken.

use domain::{
    decide::{Cancellation, request_cancel},
    id::{JobId, TenantId},
    job::State,
    settlement::{SettlementKey, Subject},
};
use sqlx::PgConnection;

use super::{
    store,
    views::{self, JobView},
};
use crate::{
    Engine,
    error::StoreError,
    ledger::{self, PostError, Posting},
    live::Topic,
};

/// What came of a cancel request.
#[derive(Clone, PartialEq, Debug)]
pub struct Cancelled {
    /// The job afterwards.
    pub job: JobView,
    /// False while the provider still has to say how it ended.
    pub is_final: bool,
}

/// Why a job was not cancelled.
#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    /// No such job of this tenant and mode.
    #[error("{0} is no job of this tenant and mode")]
    UnknownJob(JobId),
    /// There is a verdict already.
    #[error("the job is {0}: there is nothing left to cancel")]
    TooLate(State),
    /// Posting failed.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Cancels inside the caller's transaction.
///
/// # Errors
/// [`CancelError`].
pub async fn cancel(
    conn: &mut PgConnection,
    engine: &Engine,
    (tenant, livemode): (TenantId, bool),
    id: JobId,
) -> Result<Cancelled, CancelError> {
    let locked = store::lock(conn, (tenant, livemode), id).await?;
    let locked = locked.ok_or(CancelError::UnknownJob(id))?;
    let now = engine.clock().now();
    let is_final = match request_cancel(&locked.job, now) {
        Cancellation::TooLate(state) => return Err(CancelError::TooLate(state)),
        Cancellation::AlreadyCancelled => true,
        Cancellation::AlreadyRequested => false,
        Cancellation::Requested(job) => {
            store::save(conn, &locked, &job, ("cancel", None), now).await?;
            false
        }
        Cancellation::Released(change) => {
            let funds = ledger::lock(conn, &[(tenant, locked.wallet)], &[(tenant, id)]).await?;
            store::save(conn, &locked, &change.job, ("cancel", None), now).await?;
            let posting = |effect: domain::settlement::Effect| Posting {
                key: SettlementKey {
                    tenant,
                    subject: Subject::Job(id),
                    phase: effect.phase,
                    version: effect.version,
                },
                wallet: locked.wallet,
                effect,
                event: None,
            };
            let postings: Vec<_> = change.effects.into_iter().map(posting).collect();
            ledger::post(conn, engine, funds, &postings, now).await?;
            true
        }
    };
    let job = views::find(conn, tenant, livemode, id).await?;
    let job = job.ok_or(CancelError::UnknownJob(id))?;
    Ok(Cancelled { job, is_final })
}

impl Engine {
    /// Cancels in a transaction of its own. Repeating it is safe.
    ///
    /// # Errors
    /// [`CancelError`].
    pub async fn cancel_job(
        &self,
        of: (TenantId, bool),
        id: JobId,
    ) -> Result<Cancelled, CancelError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        let cancelled = cancel(&mut tx, self, of, id).await?;
        tx.commit().await.map_err(StoreError::from)?;
        self.news().count(Topic::Jobs, 1);
        Ok(cancelled)
    }
}
