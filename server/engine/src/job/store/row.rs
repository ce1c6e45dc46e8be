//! A job's row as verbs see it, with its lock or without.

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{JobId, SourceId, TenantId, WalletId},
    job::{Billed, Correction, Job, State, Versions},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{error::StoreError, job::LockedJob};

/// Reads a job's row; the last literal takes its lock, or is empty.
macro_rules! select_job {
    ($conn:ident, $of:ident, $id:ident, $lock:literal) => {
        sqlx::query_as!(
            Row,
            "SELECT wallet_id, currency, source_id, provider_reference, output_required, output_reference,
                    refund_on_failure, state, state_reason, quote, held, due, correction, reversed, captured,
                    receivable, reserve_version, capture_version, release_version, adjustment_version,
                    reversal_version, usage_revision, usage_occurred_at, usage_hash, cancel_requested_at
             FROM jobs WHERE tenant_id = $1 AND job_id = $2 AND livemode = $3"
                + $lock,
            $of.0.0,
            $id.0,
            $of.1,
        )
        .fetch_optional($conn)
        .await?
        .map(|row| row.job($of.0, $id))
        .transpose()
    };
}

/// Locks a job's row and reads it.
pub(in crate::job) async fn lock(
    conn: &mut PgConnection,
    of: (TenantId, bool),
    id: JobId,
) -> Result<Option<LockedJob>, StoreError> {
    select_job!(conn, of, id, " FOR UPDATE")
}

/// Reads a job's row as it stands; whoever decides on it takes [`lock`] instead.
pub(in crate::job) async fn read(
    conn: &mut PgConnection,
    of: (TenantId, bool),
    id: JobId,
) -> Result<Option<LockedJob>, StoreError> {
    select_job!(conn, of, id, "")
}

struct Row {
    wallet_id: Uuid,
    currency: String,
    source_id: Option<Uuid>,
    provider_reference: Option<String>,
    output_required: bool,
    output_reference: Option<String>,
    refund_on_failure: bool,
    state: String,
    state_reason: Option<String>,
    quote: Decimal,
    held: Decimal,
    due: Decimal,
    correction: Decimal,
    reversed: bool,
    captured: Decimal,
    receivable: Decimal,
    reserve_version: i32,
    capture_version: i32,
    release_version: i32,
    adjustment_version: i32,
    reversal_version: i32,
    usage_revision: Option<i32>,
    usage_occurred_at: Option<DateTime<Utc>>,
    usage_hash: Option<Vec<u8>>,
    cancel_requested_at: Option<DateTime<Utc>>,
}

impl Row {
    fn job(self, tenant: TenantId, id: JobId) -> Result<LockedJob, StoreError> {
        let currency: Currency = self
            .currency
            .parse()
            .map_err(|error| StoreError::inconsistent("jobs", "currency", error))?;
        let amount = |column, value| {
            Amount::exact(value, currency)
                .map_err(|error| StoreError::inconsistent("jobs", column, error))
        };
        let state: State = self
            .state
            .parse()
            .map_err(|error| StoreError::inconsistent("jobs", "state", error))?;
        let billed = match (self.usage_revision, self.usage_occurred_at, self.usage_hash) {
            (Some(revision), Some(occurred_at), Some(hash)) => {
                let hash = Hash::try_from(hash)
                    .map_err(|_| StoreError::inconsistent("jobs", "usage_hash", "not 32 bytes"))?;
                Some(Billed {
                    revision,
                    occurred_at,
                    hash,
                })
            }
            _ => None,
        };
        let job = Job {
            state,
            state_reason: self.state_reason,
            quote: amount("quote", self.quote)?,
            held: amount("held", self.held)?,
            due: amount("due", self.due)?,
            correction: Correction {
                net: amount("correction", self.correction)?,
                reversed: self.reversed,
            },
            captured: amount("captured", self.captured)?,
            receivable: amount("receivable", self.receivable)?,
            versions: Versions {
                reserve: self.reserve_version,
                capture: self.capture_version,
                release: self.release_version,
                adjustment: self.adjustment_version,
                reversal: self.reversal_version,
            },
            billed,
            refund_on_failure: self.refund_on_failure,
            output_required: self.output_required,
            output_stored: self.output_reference.is_some(),
            cancel_requested_at: self.cancel_requested_at,
            dispatched: self.provider_reference.is_some() || state != State::Pending,
        };
        Ok(LockedJob {
            tenant,
            id,
            wallet: WalletId(self.wallet_id),
            source: self.source_id.map(SourceId),
            provider_reference: self.provider_reference,
            output_reference: self.output_reference,
            job,
        })
    }
}
