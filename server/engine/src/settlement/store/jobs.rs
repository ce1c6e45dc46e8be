//! Jobs as settling sees them: locked together with their tenant's policy, saved as a set.

use chrono::{DateTime, Utc};
use domain::{
    decide::Policy,
    id::{JobId, SourceId, TenantId, WalletId},
    job::{Billed, Correction, Job, State, Versions},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{super::plan::Name, PriceKey, currency, hash};
use crate::error::StoreError;

/// A locked job.
#[derive(Clone, Debug)]
pub(in crate::settlement) struct JobRow {
    pub(in crate::settlement) tenant: TenantId,
    pub(in crate::settlement) id: JobId,
    pub(in crate::settlement) wallet: WalletId,
    pub(in crate::settlement) currency: Currency,
    pub(in crate::settlement) livemode: bool,
    pub(in crate::settlement) source: Option<SourceId>,
    pub(in crate::settlement) reference: Option<String>,
    pub(in crate::settlement) model: String,
    pub(in crate::settlement) price_version: i32,
    pub(in crate::settlement) policy: Policy,
    pub(in crate::settlement) transition_count: i32,
    pub(in crate::settlement) state_changed: bool,
    pub(in crate::settlement) job: Job,
}

impl JobRow {
    pub(in crate::settlement) fn price_key(&self) -> PriceKey {
        (self.model.clone(), self.currency, self.price_version)
    }
}

/// Finds jobs by either name and locks them in key order.
pub(in crate::settlement) async fn lock_jobs(
    conn: &mut PgConnection,
    names: &[Name],
) -> Result<Vec<JobRow>, StoreError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let hints: Vec<_> = names
        .iter()
        .filter_map(|name| name.job.map(|job| job.0))
        .collect();
    let (sources, references): (Vec<_>, Vec<_>) = names
        .iter()
        .filter_map(|name| Some((name.source.0, name.reference.as_deref()?)))
        .unzip();
    let rows = sqlx::query_as!(
        LockedRow,
        r#"WITH wanted AS (
               SELECT j.tenant_id, j.job_id FROM unnest($1::uuid[]) AS hint (job_id) JOIN jobs j USING (job_id)
               UNION
               SELECT j.tenant_id, j.job_id FROM unnest($2::uuid[], $3::text[]) AS named (source_id, provider_reference)
               JOIN jobs j USING (source_id, provider_reference))
           SELECT j.tenant_id, j.job_id, j.wallet_id, j.currency, j.livemode, j.source_id, j.provider_reference,
                  j.model, j.price_version, j.quote, j.held, j.due, j.correction, j.reversed, j.captured,
                  j.receivable, j.state, j.state_reason,
                  j.reserve_version, j.capture_version, j.release_version, j.adjustment_version, j.reversal_version,
                  j.usage_revision, j.usage_occurred_at, j.usage_hash, j.refund_on_failure, j.output_required,
                  j.output_reference IS NOT NULL AS "output_stored!", j.cancel_requested_at, j.transition_count,
                  t.overage, t.late_cancel, t.partial
           FROM wanted JOIN jobs j USING (tenant_id, job_id) JOIN tenants t USING (tenant_id)
           ORDER BY j.tenant_id, j.job_id
           FOR UPDATE OF j"#,
        &hints,
        &sources,
        &references as &[&str],
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(JobRow::try_from).collect()
}

/// A row of [`lock_jobs`].
struct LockedRow {
    tenant_id: Uuid,
    job_id: Uuid,
    wallet_id: Uuid,
    currency: String,
    livemode: bool,
    source_id: Option<Uuid>,
    provider_reference: Option<String>,
    model: String,
    price_version: i32,
    quote: Decimal,
    held: Decimal,
    due: Decimal,
    correction: Decimal,
    reversed: bool,
    captured: Decimal,
    receivable: Decimal,
    state: String,
    state_reason: Option<String>,
    reserve_version: i32,
    capture_version: i32,
    release_version: i32,
    adjustment_version: i32,
    reversal_version: i32,
    usage_revision: Option<i32>,
    usage_occurred_at: Option<DateTime<Utc>>,
    usage_hash: Option<Vec<u8>>,
    refund_on_failure: bool,
    output_required: bool,
    output_stored: bool,
    cancel_requested_at: Option<DateTime<Utc>>,
    transition_count: i32,
    overage: String,
    late_cancel: String,
    partial: String,
}

impl TryFrom<LockedRow> for JobRow {
    type Error = StoreError;

    fn try_from(mut row: LockedRow) -> Result<Self, StoreError> {
        let currency = currency(&row.currency)?;
        Ok(Self {
            tenant: TenantId(row.tenant_id),
            id: JobId(row.job_id),
            wallet: WalletId(row.wallet_id),
            currency,
            livemode: row.livemode,
            source: row.source_id.map(SourceId),
            model: std::mem::take(&mut row.model),
            price_version: row.price_version,
            policy: Policy {
                overage: word(&row.overage, "tenants", "overage")?,
                late_cancel: word(&row.late_cancel, "tenants", "late_cancel")?,
                partial: word(&row.partial, "tenants", "partial")?,
            },
            transition_count: row.transition_count,
            state_changed: false,
            reference: row.provider_reference.clone(),
            job: row.job(currency)?,
        })
    }
}

impl LockedRow {
    /// The part decisions are made on.
    fn job(self, currency: Currency) -> Result<Job, StoreError> {
        let amount = |column, value: Decimal| {
            Amount::exact(value, currency)
                .map_err(|error| StoreError::inconsistent("jobs", column, error))
        };
        let state = word(&self.state, "jobs", "state")?;
        let billed = match (self.usage_revision, self.usage_occurred_at, self.usage_hash) {
            (Some(revision), Some(occurred_at), Some(bytes)) => Some(Billed {
                revision,
                occurred_at,
                hash: hash(bytes, "jobs", "usage_hash")?,
            }),
            _ => None,
        };
        Ok(Job {
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
            output_stored: self.output_stored,
            cancel_requested_at: self.cancel_requested_at,
            dispatched: self.provider_reference.is_some() || state != State::Pending,
        })
    }
}

fn word<T>(text: &str, table: &'static str, column: &'static str) -> Result<T, StoreError>
where
    T: std::str::FromStr<Err = domain::code::UnknownWord>,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent(table, column, error))
}
