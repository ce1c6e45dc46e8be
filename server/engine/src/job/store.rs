//! Changes of jobs. Whoever changes a job holds its row lock, taken by [`lock`].

mod row;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{ActionId, JobId, SettlementId, SourceId, TenantId},
    job::Job,
    money::Amount,
};
use rust_decimal::Decimal;
use sqlx::{PgConnection, PgPool, types::Json};

pub(super) use self::row::{lock, read};

use super::{
    LockedJob,
    submit::{NewJob, Request, SubmitError},
};
use crate::error::StoreError;

/// Why a reference was not attached.
pub(super) enum AttachConflict {
    /// It means another job already.
    Taken,
    /// Storage failed.
    Store(StoreError),
}

pub(super) async fn by_client_request(
    conn: &mut PgConnection,
    request: &Request,
) -> Result<Option<(JobId, Hash)>, StoreError> {
    let row = sqlx::query!(
        "SELECT job_id, request_hash FROM jobs
         WHERE tenant_id = $1 AND livemode = $4 AND user_id = $2 AND client_request_id = $3",
        request.tenant.0,
        request.user,
        request.client_request_id,
        request.livemode,
    )
    .fetch_optional(conn)
    .await?;
    let read = |bytes: Vec<u8>| {
        Hash::try_from(bytes)
            .map_err(|_| StoreError::inconsistent("jobs", "request_hash", "not 32 bytes"))
    };
    row.map(|row| Ok((JobId(row.job_id), read(row.request_hash)?)))
        .transpose()
}

/// A source and its mode.
pub(super) async fn source_by_slug(
    conn: &mut PgConnection,
    slug: &str,
) -> Result<Option<(SourceId, bool)>, StoreError> {
    let row = sqlx::query!(
        "SELECT source_id, livemode FROM sources WHERE slug = $1",
        slug
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (SourceId(row.source_id), row.livemode)))
}

pub(super) async fn slug_of(
    conn: &mut PgConnection,
    source: SourceId,
) -> Result<String, StoreError> {
    let slug = sqlx::query_scalar!("SELECT slug FROM sources WHERE source_id = $1", source.0)
        .fetch_one(conn)
        .await?;
    Ok(slug)
}

/// Writes a job with its first transition.
pub(super) async fn insert(
    conn: &mut PgConnection,
    new: &NewJob<'_>,
    at: DateTime<Utc>,
) -> Result<(), SubmitError> {
    let request = new.request;
    let reserved = new.blocked.is_none();
    let held = if reserved {
        new.quote
    } else {
        Amount::zero(new.quote.currency())
    };
    let settlement_state = if reserved { "reserved" } else { "none" };
    let done = sqlx::query!(
        "WITH job AS (
             INSERT INTO jobs (tenant_id, job_id, wallet_id, currency, livemode, user_id, client_request_id,
                               request_hash, model, price_version, estimate, quote, source_id, output_required,
                               refund_on_failure, state, state_reason, settlement_state, held, reserve_version,
                               transition_count, submitted_at, state_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
                     1, $21, $21)
             RETURNING tenant_id, job_id, state, state_reason)
         INSERT INTO job_transitions (tenant_id, job_id, number, to_state, cause, detail, at)
         SELECT tenant_id, job_id, 1, state, 'submit', state_reason, $21 FROM job",
        request.tenant.0,
        new.id.0,
        request.wallet.0,
        new.quote.currency().code(),
        request.livemode,
        request.user,
        request.client_request_id,
        new.request_hash.0.as_slice(),
        request.model,
        new.snapshot.version,
        Json(new.estimate) as _,
        new.quote.value(),
        new.source.map(|source| source.0),
        request.output_required,
        new.refund_on_failure,
        new.state().as_str(),
        new.blocked,
        settlement_state,
        held.value(),
        i32::from(reserved),
        at,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match done {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("jobs_client_request") => Err(SubmitError::Raced),
        Err(error) => Err(error.into()),
    }
}

/// Writes what a verb may change: state, hold, charge, cancel request, output. What was billed is left to
/// settling. A change of state gets its row in the history.
pub(super) async fn save(
    conn: &mut PgConnection,
    before: &LockedJob,
    after: &Job,
    (cause, output): (&str, Option<&str>),
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let moved = before.job.state != after.state;
    sqlx::query!(
        "WITH job AS (
             UPDATE jobs SET state = $3, state_reason = $4, settlement_state = $5, held = $6,
                             release_version = $7, cancel_requested_at = $8, correction = $14, reversed = $15,
                             captured = $16, receivable = $17, adjustment_version = $18, reversal_version = $19,
                             output_reference = coalesce($9, output_reference),
                             transition_count = transition_count + CASE WHEN $10 THEN 1 ELSE 0 END,
                             state_at = CASE WHEN $10 THEN $11 ELSE state_at END
             WHERE tenant_id = $1 AND job_id = $2
             RETURNING tenant_id, job_id, transition_count, state)
         INSERT INTO job_transitions (tenant_id, job_id, number, from_state, to_state, cause, detail, at)
         SELECT tenant_id, job_id, transition_count, $12, state, $13, coalesce($9, $4), $11 FROM job WHERE $10",
        before.tenant.0,
        before.id.0,
        after.state.as_str(),
        after.state_reason,
        after.settlement_state().as_str(),
        after.held.value(),
        after.versions.release,
        after.cancel_requested_at,
        output,
        moved,
        at,
        before.job.state.as_str(),
        cause,
        after.correction.net.value(),
        after.correction.reversed,
        after.captured.value(),
        after.receivable.value(),
        after.versions.adjustment,
        after.versions.reversal,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Sets the provider's reference.
pub(super) async fn attach(
    conn: &mut PgConnection,
    locked: &LockedJob,
    source: SourceId,
    reference: &str,
) -> Result<(), AttachConflict> {
    let done = sqlx::query!(
        "UPDATE jobs SET source_id = $3, provider_reference = $4
         WHERE tenant_id = $1 AND job_id = $2 AND provider_reference IS NULL",
        locked.tenant.0,
        locked.id.0,
        source.0,
        reference,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match done {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("provider_references_pkey") => {
            Err(AttachConflict::Taken)
        }
        Err(error) => Err(AttachConflict::Store(error)),
    }
}

/// Makes the events due that waited for this reference.
pub(super) async fn wake(
    pool: &PgPool,
    slug: &str,
    reference: &str,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "UPDATE events SET due_at = $3
         WHERE state = 'waiting' AND provider_reference = $2 AND due_at > $3
           AND source_id = (SELECT source_id FROM sources WHERE slug = $1)",
        slug,
        reference,
        now,
    )
    .execute(pool)
    .await?;
    Ok(done.rows_affected())
}

/// What an earlier correction changed.
pub(super) struct Corrected {
    /// By how much, or nothing when it reversed or reinstated the whole charge.
    pub(super) net: Option<Decimal>,
    /// Whether it reversed.
    pub(super) reversed: Option<bool>,
    /// Whether it was taken back since.
    pub(super) is_undone: bool,
}

/// An earlier correction of a job.
pub(super) async fn correction(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
    settlement: SettlementId,
) -> Result<Option<Corrected>, StoreError> {
    let found = sqlx::query_as!(
        Corrected,
        r#"SELECT c.net, c.reversed,
                  EXISTS (SELECT FROM job_corrections u
                          WHERE u.tenant_id = c.tenant_id AND u.undoes = c.settlement_id) AS "is_undone!"
           FROM job_corrections c
           WHERE c.tenant_id = $1 AND c.settlement_id = $2 AND c.job_id = $3"#,
        tenant.0,
        settlement.0,
        job.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(found)
}

/// A correction to be noted beside its settlement.
pub(super) struct NewCorrection {
    pub(super) settlement: SettlementId,
    pub(super) action: ActionId,
    pub(super) net: Option<Amount>,
    pub(super) reversed: Option<bool>,
    pub(super) undoes: Option<SettlementId>,
}

pub(super) async fn insert_correction(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
    new: &NewCorrection,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO job_corrections (tenant_id, settlement_id, job_id, action_id, net, reversed, undoes)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        tenant.0,
        new.settlement.0,
        job.0,
        new.action.0,
        new.net.map(Amount::value),
        new.reversed,
        new.undoes.map(|settlement| settlement.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}
