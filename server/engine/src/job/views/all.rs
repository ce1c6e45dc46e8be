//! Jobs of all tenants, as staff list them.

use chrono::{DateTime, Utc};
use domain::{
    id::{JobId, TenantId, WalletId},
    job::{SettlementState, State},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    error::StoreError,
    ids,
    page::{Cursor, Page},
};

/// Which jobs are listed; everything that is set must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Mode.
    pub livemode: bool,
    /// Lifecycle state.
    pub state: Option<State>,
    /// Without a final verdict: pending or running.
    pub in_flight: bool,
    /// Settlement state.
    pub settlement: Option<SettlementState>,
    /// Tenant.
    pub tenant: Option<TenantId>,
    /// Wallet.
    pub wallet: Option<WalletId>,
    /// Model, whole.
    pub model: Option<String>,
    /// Submitted at or after.
    pub since: Option<DateTime<Utc>>,
    /// Submitted before.
    pub until: Option<DateTime<Utc>>,
}

/// A job in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The job.
    pub job: JobId,
    /// Its tenant.
    pub tenant: TenantId,
    /// The tenant's name.
    pub tenant_name: String,
    /// Model.
    pub model: String,
    /// Lifecycle state.
    pub state: State,
    /// Why it is in that state.
    pub state_reason: Option<String>,
    /// What its settlements amount to.
    pub settlement: SettlementState,
    /// What the first hold reserved.
    pub quote: Amount,
    /// Still on hold.
    pub held: Amount,
    /// Net charged.
    pub captured: Amount,
    /// Whether a cancel request was accepted.
    pub cancel_requested: bool,
    /// When it was accepted.
    pub submitted_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct Stored {
    job_id: Uuid,
    tenant_id: Uuid,
    tenant_name: String,
    model: String,
    state: String,
    state_reason: Option<String>,
    settlement_state: String,
    currency: String,
    quote: Decimal,
    held: Decimal,
    captured: Decimal,
    cancel_requested: bool,
    submitted_at: DateTime<Utc>,
}

/// A page of jobs, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<Uuid>,
) -> Result<Page<Row>, StoreError> {
    let mut query = QueryBuilder::<Postgres>::new(
        "SELECT j.job_id, j.tenant_id, t.name AS tenant_name, j.model, j.state, j.state_reason, j.settlement_state,
                j.currency, j.quote, j.held, j.captured, j.cancel_requested_at IS NOT NULL AS cancel_requested, j.submitted_at
         FROM jobs j JOIN tenants t USING (tenant_id) WHERE j.livemode = ",
    );
    query.push_bind(filter.livemode);
    restrict(&mut query, filter);
    cursor.end(&mut query, "j.job_id");
    let stored: Vec<Stored> = query.build_query_as().fetch_all(conn).await?;
    let rows = stored
        .into_iter()
        .map(Row::read)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Page::read(rows, &cursor))
}

fn restrict(query: &mut QueryBuilder<Postgres>, filter: &Filter) {
    if filter.in_flight {
        query.push(" AND j.state IN ('pending', 'running')");
    }
    if let Some(state) = filter.state {
        query.push(" AND j.state = ").push_bind(state.as_str());
    }
    if let Some(settlement) = filter.settlement {
        query
            .push(" AND j.settlement_state = ")
            .push_bind(settlement.as_str());
    }
    if let Some(tenant) = filter.tenant {
        query.push(" AND j.tenant_id = ").push_bind(tenant.0);
    }
    if let Some(wallet) = filter.wallet {
        query.push(" AND j.wallet_id = ").push_bind(wallet.0);
    }
    if let Some(model) = &filter.model {
        query.push(" AND j.model = ").push_bind(model.clone());
    }
    // Ids are time-ordered, so a time is a place in the index, exact to the millisecond.
    if let Some(since) = filter.since {
        query
            .push(" AND j.job_id >= ")
            .push_bind(ids::first_at(since));
    }
    if let Some(until) = filter.until {
        query
            .push(" AND j.job_id < ")
            .push_bind(ids::first_at(until));
    }
}

fn word<T>(column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent("jobs", column, error))
}

impl Row {
    fn read(row: Stored) -> Result<Self, StoreError> {
        let currency: Currency = word("currency", &row.currency)?;
        let money = |column, value| {
            Amount::exact(value, currency)
                .map_err(|error| StoreError::inconsistent("jobs", column, error))
        };
        Ok(Self {
            job: JobId(row.job_id),
            tenant: TenantId(row.tenant_id),
            tenant_name: row.tenant_name,
            model: row.model,
            state: word("state", &row.state)?,
            state_reason: row.state_reason,
            settlement: word("settlement_state", &row.settlement_state)?,
            quote: money("quote", row.quote)?,
            held: money("held", row.held)?,
            captured: money("captured", row.captured)?,
            cancel_requested: row.cancel_requested,
            submitted_at: row.submitted_at,
        })
    }
}
