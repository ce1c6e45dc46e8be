//! Jobs as settling sees them: locked together with their tenant's policy, saved as a set.

use chrono::{DateTime, Utc};
use domain::{
    decide::Policy,
    id::{JobId, SourceId, TenantId, WalletId},
    job::{Billed, Job, Versions},
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
    let rows = sqlx::query!(
        r#"WITH wanted AS (
               SELECT j.tenant_id, j.job_id FROM unnest($1::uuid[]) AS hint (job_id) JOIN jobs j USING (job_id)
               UNION
               SELECT j.tenant_id, j.job_id FROM unnest($2::uuid[], $3::text[]) AS named (source_id, provider_reference)
               JOIN jobs j USING (source_id, provider_reference))
           SELECT j.tenant_id, j.job_id, j.wallet_id, j.currency, j.livemode, j.source_id, j.provider_reference,
                  j.model, j.price_version, j.quote, j.held, j.captured, j.receivable, j.state, j.state_reason,
                  j.reserve_version, j.capture_version, j.release_version, j.adjustment_version,
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
    rows.into_iter()
        .map(|row| {
            let currency = currency(&row.currency)?;
            let amount = |column, value: Decimal| {
                Amount::exact(value, currency)
                    .map_err(|error| StoreError::inconsistent("jobs", column, error))
            };
            let state = word(&row.state, "jobs", "state")?;
            let billed = match (row.usage_revision, row.usage_occurred_at, row.usage_hash) {
                (Some(revision), Some(occurred_at), Some(bytes)) => Some(Billed {
                    revision,
                    occurred_at,
                    hash: hash(bytes, "jobs", "usage_hash")?,
                }),
                _ => None,
            };
            Ok(JobRow {
                tenant: TenantId(row.tenant_id),
                id: JobId(row.job_id),
                wallet: WalletId(row.wallet_id),
                currency,
                livemode: row.livemode,
                source: row.source_id.map(SourceId),
                model: row.model,
                price_version: row.price_version,
                policy: Policy {
                    overage: word(&row.overage, "tenants", "overage")?,
                    late_cancel: word(&row.late_cancel, "tenants", "late_cancel")?,
                    partial: word(&row.partial, "tenants", "partial")?,
                },
                transition_count: row.transition_count,
                state_changed: false,
                job: Job {
                    state,
                    state_reason: row.state_reason,
                    quote: amount("quote", row.quote)?,
                    held: amount("held", row.held)?,
                    captured: amount("captured", row.captured)?,
                    receivable: amount("receivable", row.receivable)?,
                    versions: Versions {
                        reserve: row.reserve_version,
                        capture: row.capture_version,
                        release: row.release_version,
                        adjustment: row.adjustment_version,
                    },
                    billed,
                    refund_on_failure: row.refund_on_failure,
                    output_required: row.output_required,
                    output_stored: row.output_stored,
                    cancel_requested_at: row.cancel_requested_at,
                    dispatched: row.provider_reference.is_some()
                        || !matches!(state, domain::job::State::Pending),
                },
                reference: row.provider_reference,
            })
        })
        .collect()
}

fn word<T>(text: &str, table: &'static str, column: &'static str) -> Result<T, StoreError>
where
    T: std::str::FromStr<Err = domain::code::UnknownWord>,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent(table, column, error))
}

/// Saves changed jobs.
pub(in crate::settlement) async fn save_jobs(
    conn: &mut PgConnection,
    rows: &[&JobRow],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let uuids = |pick: fn(&JobRow) -> Uuid| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let amounts = |pick: fn(&Job) -> Amount| {
        rows.iter()
            .map(|row| pick(&row.job).value())
            .collect::<Vec<_>>()
    };
    let counts = |pick: fn(&JobRow) -> i32| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let states: Vec<_> = rows.iter().map(|row| row.job.state.as_str()).collect();
    let reasons: Vec<_> = rows
        .iter()
        .map(|row| row.job.state_reason.as_deref())
        .collect();
    let settlement_states: Vec<_> = rows
        .iter()
        .map(|row| row.job.settlement_state().as_str())
        .collect();
    let billed = |row: &&JobRow| row.job.billed;
    let revisions: Vec<_> = rows
        .iter()
        .map(billed)
        .map(|billed| billed.map(|billed| billed.revision))
        .collect();
    let occurred: Vec<_> = rows
        .iter()
        .map(billed)
        .map(|billed| billed.map(|billed| billed.occurred_at))
        .collect();
    let hashes: Vec<_> = rows
        .iter()
        .map(|row| {
            row.job
                .billed
                .as_ref()
                .map(|billed| billed.hash.0.as_slice())
        })
        .collect();
    let sources: Vec<_> = rows
        .iter()
        .map(|row| row.source.map(|source| source.0))
        .collect();
    let references: Vec<_> = rows.iter().map(|row| row.reference.as_deref()).collect();
    let entered: Vec<_> = rows
        .iter()
        .map(|row| row.state_changed.then_some(now))
        .collect();
    let saved = sqlx::query!(
        r#"UPDATE jobs SET state = n.state, state_reason = n.state_reason, settlement_state = n.settlement_state,
               held = n.held, captured = n.captured, receivable = n.receivable, reserve_version = n.reserve,
               capture_version = n.capture, release_version = n.release, adjustment_version = n.adjustment,
               usage_revision = n.revision, usage_occurred_at = n.occurred_at, usage_hash = n.hash,
               transition_count = n.transitions, source_id = n.source_id, provider_reference = n.reference,
               state_at = coalesce(n.entered, jobs.state_at)
           FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::numeric[],
               $8::numeric[], $9::int[], $10::int[], $11::int[], $12::int[], $13::int[], $14::timestamptz[],
               $15::bytea[], $16::int[], $17::uuid[], $18::text[], $19::timestamptz[])
               AS n (tenant_id, job_id, state, state_reason, settlement_state, held, captured, receivable, reserve,
                   capture, release, adjustment, revision, occurred_at, hash, transitions, source_id, reference, entered)
           WHERE jobs.tenant_id = n.tenant_id AND jobs.job_id = n.job_id"#,
        &uuids(|row| row.tenant.0),
        &uuids(|row| row.id.0),
        &states as &[&str],
        &reasons as &[Option<&str>],
        &settlement_states as &[&str],
        &amounts(|job| job.held),
        &amounts(|job| job.captured),
        &amounts(|job| job.receivable),
        &counts(|row| row.job.versions.reserve),
        &counts(|row| row.job.versions.capture),
        &counts(|row| row.job.versions.release),
        &counts(|row| row.job.versions.adjustment),
        &revisions as &[Option<i32>],
        &occurred as &[Option<DateTime<Utc>>],
        &hashes as &[Option<&[u8]>],
        &counts(|row| row.transition_count),
        &sources as &[Option<Uuid>],
        &references as &[Option<&str>],
        &entered as &[Option<DateTime<Utc>>],
    )
    .execute(conn)
    .await?;
    if saved.rows_affected() == rows.len() as u64 {
        return Ok(());
    }
    Err(StoreError::inconsistent(
        "jobs",
        "state",
        "a locked job is gone",
    ))
}
