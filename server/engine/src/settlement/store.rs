//! SQL of settling.

mod claim;
mod jobs;
mod save;

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    event::{EventState, WaitReason},
    id::{EventId, JobId, TenantId, WalletId},
    job::State,
    money::Currency,
    price::Price,
    settlement::{SettlementKey, Subject},
};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

pub use self::claim::Due;
pub(super) use self::{
    claim::{claim_only, claim_shard},
    jobs::{JobRow, lock_jobs},
    save::save_jobs,
};
use super::PriceKey;
use crate::error::StoreError;

/// What becomes of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    pub(super) event: EventId,
    pub(super) state: EventState,
    pub(super) reason: Option<&'static str>,
    pub(super) attempts: i16,
    pub(super) due_at: Option<DateTime<Utc>>,
    pub(super) job: Option<(TenantId, JobId)>,
}

impl Due {
    /// A final outcome; its job is added by [`Outcome::about`].
    pub(super) fn outcome(&self, state: EventState, reason: Option<&'static str>) -> Outcome {
        Outcome {
            event: self.id,
            state,
            reason,
            attempts: self.attempts,
            due_at: None,
            job: None,
        }
    }
}

impl Outcome {
    pub(super) fn about(self, row: &JobRow) -> Self {
        Self {
            job: Some((row.tenant, row.id)),
            ..self
        }
    }
}

/// One step of a job's life, caused by an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Transition {
    pub(super) tenant: TenantId,
    pub(super) job: JobId,
    pub(super) number: i32,
    pub(super) from: State,
    pub(super) to: State,
    pub(super) event: EventId,
    pub(super) detail: Option<String>,
}

/// What identifies the content of a settlement on record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Recorded {
    pub(super) wallet: WalletId,
    pub(super) content_hash: Hash,
}

fn numbers(events: &[EventId]) -> Vec<i64> {
    events.iter().map(|event| event.0).collect()
}

/// Reads price versions.
pub(super) async fn load_prices(
    conn: &mut PgConnection,
    wanted: &[PriceKey],
) -> Result<Vec<Price>, StoreError> {
    let models: Vec<_> = wanted.iter().map(|(model, ..)| model.as_str()).collect();
    let currencies: Vec<_> = wanted
        .iter()
        .map(|(_, currency, _)| currency.code())
        .collect();
    let versions: Vec<_> = wanted.iter().map(|(.., version)| *version).collect();
    let rows = sqlx::query!(
        r#"SELECT p.model, p.currency, p.version, p.terms
           FROM unnest($1::text[], $2::text[], $3::int[]) AS wanted (model, currency, version)
           JOIN price_versions p USING (model, currency, version)"#,
        &models as &[&str],
        &currencies as &[&str],
        &versions,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Price {
                currency: currency(&row.currency)?,
                terms: serde_json::from_value(row.terms)
                    .map_err(|error| StoreError::inconsistent("price_versions", "terms", error))?,
                model: row.model,
                version: row.version,
            })
        })
        .collect()
}

fn currency(code: &str) -> Result<Currency, StoreError> {
    code.parse()
        .map_err(|error| StoreError::inconsistent("currencies", "currency", error))
}

/// All settlements of jobs, by key.
pub(super) async fn recorded(
    conn: &mut PgConnection,
    jobs: &[(TenantId, JobId)],
) -> Result<HashMap<SettlementKey, Recorded>, StoreError> {
    let (tenants, ids): (Vec<_>, Vec<_>) =
        jobs.iter().map(|(tenant, job)| (tenant.0, job.0)).unzip();
    let rows = sqlx::query!(
        r#"SELECT s.tenant_id, s.subject_id, s.phase, s.version, s.wallet_id, s.content_hash
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, subject_id)
           JOIN settlements s ON s.tenant_id = wanted.tenant_id AND s.subject_kind = 'job' AND s.subject_id = wanted.subject_id"#,
        &tenants,
        &ids,
    )
    .fetch_all(conn)
    .await?;
    let mut recorded = HashMap::with_capacity(rows.len());
    for row in rows {
        let key = SettlementKey {
            tenant: TenantId(row.tenant_id),
            subject: Subject::Job(JobId(row.subject_id)),
            phase: row
                .phase
                .parse()
                .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?,
            version: row.version,
        };
        let content_hash = hash(row.content_hash, "settlements", "content_hash")?;
        recorded.insert(
            key,
            Recorded {
                wallet: WalletId(row.wallet_id),
                content_hash,
            },
        );
    }
    Ok(recorded)
}

fn hash(bytes: Vec<u8>, table: &'static str, column: &'static str) -> Result<Hash, StoreError> {
    Hash::try_from(bytes)
        .map_err(|bytes| StoreError::inconsistent(table, column, format!("{} bytes", bytes.len())))
}

/// Records steps of jobs' lives.
pub(super) async fn insert_transitions(
    conn: &mut PgConnection,
    steps: &[Transition],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    if steps.is_empty() {
        return Ok(());
    }
    let tenants: Vec<_> = steps.iter().map(|step| step.tenant.0).collect();
    let jobs: Vec<_> = steps.iter().map(|step| step.job.0).collect();
    let numbers: Vec<_> = steps.iter().map(|step| step.number).collect();
    let from: Vec<_> = steps.iter().map(|step| step.from.as_str()).collect();
    let to: Vec<_> = steps.iter().map(|step| step.to.as_str()).collect();
    let events: Vec<_> = steps.iter().map(|step| step.event.0).collect();
    let details: Vec<_> = steps.iter().map(|step| step.detail.as_deref()).collect();
    sqlx::query!(
        r#"INSERT INTO job_transitions (tenant_id, job_id, number, from_state, to_state, event_id, detail, cause, at)
           SELECT steps.*, 'event', $8
           FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::text[], $6::bigint[], $7::text[]) AS steps"#,
        &tenants,
        &jobs,
        &numbers,
        &from as &[&str],
        &to as &[&str],
        &events,
        &details as &[Option<&str>],
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records what became of events.
pub(super) async fn save_outcomes(
    conn: &mut PgConnection,
    outcomes: &[Outcome],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let events: Vec<_> = outcomes.iter().map(|outcome| outcome.event.0).collect();
    let states: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.state.as_str())
        .collect();
    let reasons: Vec<_> = outcomes.iter().map(|outcome| outcome.reason).collect();
    let attempts: Vec<_> = outcomes.iter().map(|outcome| outcome.attempts).collect();
    let due: Vec<_> = outcomes.iter().map(|outcome| outcome.due_at).collect();
    let tenants: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.job.map(|(tenant, _)| tenant.0))
        .collect();
    let jobs: Vec<_> = outcomes
        .iter()
        .map(|outcome| outcome.job.map(|(_, job)| job.0))
        .collect();
    let saved = sqlx::query!(
        r#"UPDATE events SET state = decided.state, reason = decided.reason, attempts = decided.attempts,
               due_at = decided.due_at, tenant_id = decided.tenant_id, job_id = decided.job_id,
               decided_at = CASE WHEN decided.due_at IS NULL THEN $8::timestamptz END
           FROM unnest($1::bigint[], $2::text[], $3::text[], $4::smallint[], $5::timestamptz[], $6::uuid[], $7::uuid[])
               AS decided (event_id, state, reason, attempts, due_at, tenant_id, job_id)
           WHERE events.event_id = decided.event_id"#,
        &events,
        &states as &[&str],
        &reasons as &[Option<&str>],
        &attempts,
        &due as &[Option<DateTime<Utc>>],
        &tenants as &[Option<Uuid>],
        &jobs as &[Option<Uuid>],
        now,
    )
    .execute(conn)
    .await?;
    if saved.rows_affected() == outcomes.len() as u64 {
        return Ok(());
    }
    Err(StoreError::inconsistent(
        "events",
        "state",
        "a claimed event is gone",
    ))
}

/// Locks an event that is still due and says how often it was looked at.
pub(super) async fn lock_due(
    conn: &mut PgConnection,
    event: EventId,
) -> Result<Option<i16>, StoreError> {
    let attempts = sqlx::query_scalar!(
        "SELECT attempts FROM events WHERE event_id = $1 AND due_at IS NOT NULL FOR UPDATE",
        event.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(attempts)
}

/// Marks a locked event as failed and due later.
pub(super) async fn fail(
    conn: &mut PgConnection,
    event: EventId,
    reason: &str,
    due_at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        r#"UPDATE events SET state = 'failed', reason = $2, due_at = $3, attempts = least(attempts::int + 1, 32767)::smallint
           WHERE event_id = $1"#,
        event.0,
        reason,
        due_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Waits for the locks of events, then counts the decided ones.
pub(super) async fn decided_among(
    conn: &mut PgConnection,
    events: &[EventId],
) -> Result<u64, StoreError> {
    let undecided = sqlx::query_scalar!(
        "SELECT due_at IS NULL FROM events WHERE event_id = ANY ($1) ORDER BY due_at, event_id FOR UPDATE",
        &numbers(events),
    )
    .fetch_all(conn)
    .await?;
    Ok(undecided
        .into_iter()
        .filter(|decided| *decided == Some(true))
        .count() as u64)
}

/// Makes due what waits for a tenant's funds.
pub(super) async fn wake_for_funds(
    pool: &PgPool,
    tenant: TenantId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE events SET due_at = $2
         WHERE state = 'waiting' AND reason = $3 AND tenant_id = $1 AND due_at > $2",
        tenant.0,
        now,
        WaitReason::Funds.as_str(),
    )
    .execute(pool)
    .await?;
    Ok(())
}
