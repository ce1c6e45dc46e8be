//! Jobs: asynchronous work with an immutable id, from submission to a stored output.
//!
//! Every verb here takes the job's row lock or the wallet's lock first, decides in the domain, then
//! writes. What a provider says about a job arrives as events and is settled by the worker.

pub mod cancel;
pub mod correct;
pub mod dispatch;
mod store;
pub mod submit;
pub mod views;

use domain::{
    id::{JobId, SourceId, TenantId, WalletId},
    job::Job,
};
use sqlx::PgConnection;

use crate::error::StoreError;

/// A job's row under lock: what decisions see, and what surrounds it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct LockedJob {
    pub(crate) tenant: TenantId,
    pub(crate) id: JobId,
    pub(crate) wallet: WalletId,
    pub(crate) source: Option<SourceId>,
    pub(crate) provider_reference: Option<String>,
    pub(crate) output_reference: Option<String>,
    pub(crate) job: Job,
}

/// A job as decisions see it, without its lock.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn read(
    conn: &mut PgConnection,
    of: (TenantId, bool),
    id: JobId,
) -> Result<Option<Job>, StoreError> {
    Ok(store::read(conn, of, id).await?.map(|locked| locked.job))
}
