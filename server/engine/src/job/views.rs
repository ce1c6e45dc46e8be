//! What is shown of jobs.

pub mod all;
pub mod uncertain;

use chrono::{DateTime, Utc};
use domain::{
    id::{ActionId, EventId, JobId, SettlementId, TenantId, WalletId},
    job::{SettlementState, State},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// A job as its tenant sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct JobView {
    /// Id.
    pub id: JobId,
    /// Wallet that pays.
    pub wallet: WalletId,
    /// Mode.
    pub livemode: bool,
    /// The tenant's own user.
    pub user: String,
    /// Idempotency key.
    pub client_request_id: String,
    /// Model.
    pub model: String,
    /// Price frozen at submission.
    pub price_version: i32,
    /// Estimated usage, as strings by meter.
    pub estimate: serde_json::Value,
    /// What the first hold reserved.
    pub quote: Amount,
    /// Still on hold.
    pub held: Amount,
    /// Net charged.
    pub captured: Amount,
    /// The part of it that is owed.
    pub receivable: Amount,
    /// Slug of the source that speaks of it.
    pub source: Option<String>,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// Whether completion waits for a stored output.
    pub output_required: bool,
    /// Where the stored output is.
    pub output_reference: Option<String>,
    /// Lifecycle state.
    pub state: State,
    /// Why it is in that state.
    pub state_reason: Option<String>,
    /// What its settlements amount to.
    pub settlement_state: SettlementState,
    /// When the customer's cancel request was accepted.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub submitted_at: DateTime<Utc>,
    /// When it entered its state.
    pub state_at: DateTime<Utc>,
}

/// Which jobs to list, newest first.
#[derive(Clone, Debug, Default)]
pub struct JobFilter {
    /// Only those in this state.
    pub state: Option<State>,
    /// Only those of this wallet.
    pub wallet: Option<WalletId>,
    /// Only those older than this one: the last of the page before.
    pub before: Option<JobId>,
    /// At most so many.
    pub limit: i64,
}

struct Row {
    job_id: Uuid,
    wallet_id: Uuid,
    currency: String,
    livemode: bool,
    user_id: String,
    client_request_id: String,
    model: String,
    price_version: i32,
    estimate: serde_json::Value,
    quote: Decimal,
    held: Decimal,
    captured: Decimal,
    receivable: Decimal,
    source: Option<String>,
    provider_reference: Option<String>,
    output_required: bool,
    output_reference: Option<String>,
    state: String,
    state_reason: Option<String>,
    settlement_state: String,
    cancel_requested_at: Option<DateTime<Utc>>,
    submitted_at: DateTime<Utc>,
    state_at: DateTime<Utc>,
}

impl TryFrom<Row> for JobView {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let currency: Currency = row
            .currency
            .parse()
            .map_err(|error| StoreError::inconsistent("jobs", "currency", error))?;
        let amount = |column, value| {
            Amount::exact(value, currency)
                .map_err(|error| StoreError::inconsistent("jobs", column, error))
        };
        Ok(Self {
            id: JobId(row.job_id),
            wallet: WalletId(row.wallet_id),
            livemode: row.livemode,
            user: row.user_id,
            client_request_id: row.client_request_id,
            model: row.model,
            price_version: row.price_version,
            estimate: row.estimate,
            quote: amount("quote", row.quote)?,
            held: amount("held", row.held)?,
            captured: amount("captured", row.captured)?,
            receivable: amount("receivable", row.receivable)?,
            source: row.source,
            provider_reference: row.provider_reference,
            output_required: row.output_required,
            output_reference: row.output_reference,
            state: row
                .state
                .parse()
                .map_err(|error| StoreError::inconsistent("jobs", "state", error))?,
            state_reason: row.state_reason,
            settlement_state: row
                .settlement_state
                .parse()
                .map_err(|error| StoreError::inconsistent("jobs", "settlement_state", error))?,
            cancel_requested_at: row.cancel_requested_at,
            submitted_at: row.submitted_at,
            state_at: row.state_at,
        })
    }
}

/// One job of a tenant and mode.
///
/// # Errors
/// [`StoreError`].
pub async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    livemode: bool,
    job: JobId,
) -> Result<Option<JobView>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT j.job_id, j.wallet_id, j.currency, j.livemode, j.user_id, j.client_request_id, j.model,
                  j.price_version, j.estimate, j.quote, j.held, j.captured, j.receivable,
                  s.slug AS "source?", j.provider_reference, j.output_required, j.output_reference, j.state,
                  j.state_reason, j.settlement_state, j.cancel_requested_at, j.submitted_at, j.state_at
           FROM jobs j LEFT JOIN sources s USING (source_id)
           WHERE j.tenant_id = $1 AND j.livemode = $2 AND j.job_id = $3"#,
        tenant.0,
        livemode,
        job.0,
    )
    .fetch_optional(conn)
    .await?;
    row.map(JobView::try_from).transpose()
}

/// Jobs of a tenant and mode, newest first; one keyset page.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    livemode: bool,
    filter: &JobFilter,
) -> Result<Vec<JobView>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT j.job_id, j.wallet_id, j.currency, j.livemode, j.user_id, j.client_request_id, j.model,
                  j.price_version, j.estimate, j.quote, j.held, j.captured, j.receivable,
                  s.slug AS "source?", j.provider_reference, j.output_required, j.output_reference, j.state,
                  j.state_reason, j.settlement_state, j.cancel_requested_at, j.submitted_at, j.state_at
           FROM jobs j LEFT JOIN sources s USING (source_id)
           WHERE j.tenant_id = $1 AND j.livemode = $2
             AND ($3::uuid IS NULL OR j.job_id < $3)
             AND ($4::text IS NULL OR j.state = $4)
             AND ($5::uuid IS NULL OR j.wallet_id = $5)
           ORDER BY j.job_id DESC LIMIT $6"#,
        tenant.0,
        livemode,
        filter.before.map(|job| job.0),
        filter.state.map(State::as_str),
        filter.wallet.map(|wallet| wallet.0),
        filter.limit,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(JobView::try_from).collect()
}

/// A correction by a person, as its settlement shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Correction {
    /// The settlement that posted it.
    pub settlement: SettlementId,
    /// The job.
    pub job: JobId,
    /// The action that asked for it.
    pub action: ActionId,
    /// The correction it takes back.
    pub undoes: Option<SettlementId>,
    /// What took it back.
    pub undone_by: Option<SettlementId>,
}

/// The correction that a settlement posted, if a person's correction did.
///
/// # Errors
/// [`StoreError`].
pub async fn correction(
    conn: &mut PgConnection,
    (tenant, settlement): (TenantId, SettlementId),
) -> Result<Option<Correction>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT c.job_id, c.action_id, c.undoes, u.settlement_id AS "undone_by?"
           FROM job_corrections c
           LEFT JOIN job_corrections u ON u.tenant_id = c.tenant_id AND u.undoes = c.settlement_id
           WHERE c.tenant_id = $1 AND c.settlement_id = $2"#,
        tenant.0,
        settlement.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Correction {
        settlement,
        job: JobId(row.job_id),
        action: ActionId(row.action_id),
        undoes: row.undoes.map(SettlementId),
        undone_by: row.undone_by.map(SettlementId),
    }))
}

/// The newest entry of a job, and who caused it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastChange {
    /// The entry, as `adjustment/2`.
    pub entry: String,
    /// The event that caused it, if one did.
    pub event: Option<EventId>,
    /// The person who did, if one did.
    pub person: Option<String>,
}

/// The newest entry of a job.
///
/// # Errors
/// [`StoreError`].
pub async fn last_change(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
) -> Result<Option<LastChange>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT s.phase, s.version, s.event_id, o.name AS "person?"
           FROM settlements s
           LEFT JOIN actions a ON a.tenant_id = s.tenant_id AND a.job_id = $2 AND a.settlement_id = s.settlement_id
           LEFT JOIN operators o ON o.operator_id = a.decided_by
           WHERE s.tenant_id = $1 AND s.subject_kind = 'job' AND s.subject_id = $2
           ORDER BY s.settlement_id DESC LIMIT 1"#,
        tenant.0,
        job.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| LastChange {
        entry: format!("{}/{}", row.phase, row.version),
        event: row.event_id.map(EventId),
        person: row.person,
    }))
}
