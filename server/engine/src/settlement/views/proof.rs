//! The whole proof of one job: what was said, what it meant, what moved.

use chrono::{DateTime, Utc};
use domain::{
    event::EventState,
    id::{EventId, JobId, SourceId, TenantId, WalletId},
    job::{SettlementState, State},
    money::Amount,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::{SettlementView, amount, currency, of_job};
use crate::error::StoreError;

/// Events shown of one job; a job has a handful.
const MOST_EVENTS: i64 = 200;

/// Everything about one job.
#[derive(Clone, PartialEq, Debug)]
pub struct JobProof {
    /// The job as it stands.
    pub job: JobFacts,
    /// Steps of its life, first to last.
    pub steps: Vec<Step>,
    /// Its settlements, first to last.
    pub settlements: Vec<SettlementView>,
    /// Events that concern it, first to last.
    pub events: Vec<EventLine>,
}

/// A job as it stands.
#[derive(Clone, PartialEq, Debug)]
pub struct JobFacts {
    /// Tenant.
    pub tenant: TenantId,
    /// Name of the tenant.
    pub tenant_name: String,
    /// Its id.
    pub job: JobId,
    /// Wallet that pays.
    pub wallet: WalletId,
    /// Name of the wallet.
    pub wallet_name: String,
    /// True for real money.
    pub livemode: bool,
    /// The tenant's own user.
    pub user_id: String,
    /// The caller's idempotency key.
    pub client_request_id: String,
    /// Model.
    pub model: String,
    /// Price version frozen at submission.
    pub price_version: i32,
    /// Estimated usage, quantities by meter.
    pub estimate: serde_json::Value,
    /// Estimate priced.
    pub quote: Amount,
    /// Source whose events speak of it.
    pub source: Option<SourceId>,
    /// Name of that source in URLs.
    pub source_slug: Option<String>,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// Whether completion waits for an output.
    pub output_required: bool,
    /// Where the stored output is.
    pub output_reference: Option<String>,
    /// Lifecycle state.
    pub state: State,
    /// Why.
    pub state_reason: Option<String>,
    /// What its settlements amount to.
    pub settlement_state: SettlementState,
    /// Still on hold.
    pub held: Amount,
    /// Net charged.
    pub captured: Amount,
    /// The part of it that is owed.
    pub receivable: Amount,
    /// When the customer's cancel request was accepted.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub submitted_at: DateTime<Utc>,
    /// When it entered its state.
    pub state_at: DateTime<Utc>,
}

/// One step of a job's life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// Counts up from 1.
    pub number: i32,
    /// State before; none for the first.
    pub from: Option<State>,
    /// State after.
    pub to: State,
    /// What moved it: submit, attach, cancel, event, output, operator.
    pub cause: String,
    /// The event, when one moved it.
    pub event: Option<EventId>,
    /// Reason or reference.
    pub detail: Option<String>,
    /// When.
    pub at: DateTime<Utc>,
}

/// An event that concerns a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventLine {
    /// Its id.
    pub event: EventId,
    /// Name of its source in URLs.
    pub source_slug: String,
    /// The sender's id, or one derived.
    pub event_key: String,
    /// What the sender calls it.
    pub kind: String,
    /// What became of it.
    pub state: EventState,
    /// Why.
    pub reason: Option<String>,
    /// When it happened, by the sender's clock.
    pub occurred_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub received_at: DateTime<Utc>,
    /// When its outcome became final.
    pub decided_at: Option<DateTime<Utc>>,
    /// How often it was delivered.
    pub deliveries: i64,
    /// How many of these were conflicts.
    pub conflicts: i64,
    /// Other contents under its key that nobody has decided on.
    pub open_conflicts: i64,
}

/// The proof of a job, by its id alone.
///
/// # Errors
/// [`StoreError`].
pub async fn job_proof(
    conn: &mut PgConnection,
    job: JobId,
) -> Result<Option<JobProof>, StoreError> {
    let Some(facts) = facts(conn, job).await? else {
        return Ok(None);
    };
    let key = (facts.tenant, job);
    let steps = steps(conn, key).await?;
    let settlements = of_job(conn, key).await?;
    let events = events(conn, job).await?;
    Ok(Some(JobProof {
        job: facts,
        steps,
        settlements,
        events,
    }))
}

async fn facts(conn: &mut PgConnection, job: JobId) -> Result<Option<JobFacts>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT j.tenant_id, t.name AS tenant_name, j.job_id, j.wallet_id, w.name AS wallet_name, j.currency, j.livemode,
                  j.user_id, j.client_request_id, j.model, j.price_version, j.estimate, j.quote, j.source_id,
                  s.slug AS "source_slug?", j.provider_reference, j.output_required, j.output_reference, j.state,
                  j.state_reason, j.settlement_state, j.held, j.captured, j.receivable, j.cancel_requested_at,
                  j.submitted_at, j.state_at
           FROM jobs j JOIN tenants t USING (tenant_id) JOIN wallets w USING (tenant_id, wallet_id)
           LEFT JOIN sources s ON s.source_id = j.source_id
           WHERE j.job_id = $1"#,
        job.0,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency = currency(&row.currency)?;
    let money = |value: Decimal| amount(value, currency);
    Ok(Some(JobFacts {
        tenant: TenantId(row.tenant_id),
        tenant_name: row.tenant_name,
        job: JobId(row.job_id),
        wallet: WalletId(row.wallet_id),
        wallet_name: row.wallet_name,
        livemode: row.livemode,
        user_id: row.user_id,
        client_request_id: row.client_request_id,
        model: row.model,
        price_version: row.price_version,
        estimate: row.estimate,
        quote: money(row.quote)?,
        source: row.source_id.map(SourceId),
        source_slug: row.source_slug,
        provider_reference: row.provider_reference,
        output_required: row.output_required,
        output_reference: row.output_reference,
        state: state(&row.state)?,
        state_reason: row.state_reason,
        settlement_state: row
            .settlement_state
            .parse()
            .map_err(|error| StoreError::inconsistent("jobs", "settlement_state", error))?,
        held: money(row.held)?,
        captured: money(row.captured)?,
        receivable: money(row.receivable)?,
        cancel_requested_at: row.cancel_requested_at,
        submitted_at: row.submitted_at,
        state_at: row.state_at,
    }))
}

fn state(word: &str) -> Result<State, StoreError> {
    word.parse()
        .map_err(|error| StoreError::inconsistent("jobs", "state", error))
}

async fn steps(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
) -> Result<Vec<Step>, StoreError> {
    let rows = sqlx::query!(
        "SELECT number, from_state, to_state, cause, event_id, detail, at FROM job_transitions
         WHERE tenant_id = $1 AND job_id = $2 ORDER BY number",
        tenant.0,
        job.0,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Step {
                number: row.number,
                from: row.from_state.as_deref().map(state).transpose()?,
                to: state(&row.to_state)?,
                cause: row.cause,
                event: row.event_id.map(EventId),
                detail: row.detail,
                at: row.at,
            })
        })
        .collect()
}

async fn events(conn: &mut PgConnection, job: JobId) -> Result<Vec<EventLine>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT e.event_id, s.slug, e.event_key, e.kind, e.state, e.reason, e.occurred_at, e.received_at, e.decided_at,
                  d.deliveries AS "deliveries!", d.conflicts AS "conflicts!",
                  (SELECT count(*) FROM open_conflicts c WHERE c.event_id = e.event_id) AS "open_conflicts!"
           FROM events e JOIN sources s USING (source_id)
           CROSS JOIN LATERAL (
               SELECT count(*) AS deliveries, count(*) FILTER (WHERE outcome = 'conflict') AS conflicts
               FROM deliveries WHERE deliveries.event_id = e.event_id) d
           WHERE e.job_id = $1 ORDER BY e.event_id LIMIT $2"#,
        job.0,
        MOST_EVENTS,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(EventLine {
                event: EventId(row.event_id),
                source_slug: row.slug,
                event_key: row.event_key,
                kind: row.kind,
                state: row
                    .state
                    .parse()
                    .map_err(|error| StoreError::inconsistent("events", "state", error))?,
                reason: row.reason,
                occurred_at: row.occurred_at,
                received_at: row.received_at,
                decided_at: row.decided_at,
                deliveries: row.deliveries,
                conflicts: row.conflicts,
                open_conflicts: row.open_conflicts,
            })
        })
        .collect()
}
