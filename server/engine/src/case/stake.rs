//! The money at stake in a conflict: what its job is charged, and what it would be if the other content
//! were the right one.

use domain::{
    decide,
    id::{JobId, TenantId},
    money::Amount,
};
use sqlx::PgConnection;

use super::views;
use crate::{error::StoreError, job};

/// What a conflict is about, in money.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stake {
    /// The job.
    pub job: JobId,
    /// What it is charged.
    pub charged: Amount,
    /// What it would be charged by the other content; `None` when that content decides nothing about the
    /// charge, or cannot be used.
    pub other: Option<Amount>,
}

/// The money at stake in a conflict; `None` while its job is not known or nothing was charged for it.
///
/// # Errors
/// [`StoreError`].
pub async fn stake(conn: &mut PgConnection, conflict: i64) -> Result<Option<Stake>, StoreError> {
    let Some(dispute) = views::dispute(conn, conflict).await? else {
        return Ok(None);
    };
    let of: (TenantId, bool) = (dispute.tenant, dispute.livemode);
    let Some(job) = job::read(conn, of, dispute.job).await? else {
        return Ok(None);
    };
    if job.billed.is_none() {
        return Ok(None);
    }
    let usage = dispute.adapter.fact(&dispute.body).ok();
    let due = usage.and_then(|reading| {
        decide::due_by(&job, reading.fact()?, dispute.policy, &dispute.price).ok()?
    });
    let other = due
        .map(|due| job.correction.of(due))
        .transpose()
        .map_err(|error| StoreError::inconsistent("jobs", "correction", error))?;
    Ok(Some(Stake {
        job: dispute.job,
        charged: job.captured,
        other,
    }))
}
