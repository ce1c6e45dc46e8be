//! Decisions on cases as they are read.

use chrono::{DateTime, Utc};
use domain::{
    adapter::Adapter,
    decide::Policy,
    event::CaseDecision,
    id::{EventId, JobId, TenantId},
    money::Currency,
    price::Price,
};
use sqlx::PgConnection;

use crate::error::StoreError;

/// A decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What.
    pub decision: CaseDecision,
    /// About which conflict, if about one.
    pub conflict: Option<i64>,
    /// Why.
    pub reason: String,
    /// Who.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Most decisions read of one event.
const MOST: i64 = 100;

/// The decisions on an event, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn decisions(
    conn: &mut PgConnection,
    event: EventId,
) -> Result<Vec<Decision>, StoreError> {
    let rows = sqlx::query!(
        "SELECT d.decision, d.conflict_id, d.reason, o.name, d.decided_at
         FROM case_decisions d JOIN operators o ON o.operator_id = d.decided_by
         WHERE d.event_id = $1 ORDER BY d.decision_id LIMIT $2",
        event.0,
        MOST,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let decision = row
                .decision
                .parse()
                .map_err(|error| StoreError::inconsistent("case_decisions", "decision", error))?;
            Ok(Decision {
                decision,
                conflict: row.conflict_id,
                reason: row.reason,
                by: row.name,
                at: row.decided_at,
            })
        })
        .collect()
}

/// What a conflict is about, as far as it can be rated.
pub(super) struct Dispute {
    pub(super) tenant: TenantId,
    pub(super) livemode: bool,
    pub(super) job: JobId,
    pub(super) adapter: Adapter,
    pub(super) body: Vec<u8>,
    pub(super) policy: Policy,
    pub(super) price: Price,
}

/// A conflict with its event's job, once that is known.
pub(super) async fn dispute(
    conn: &mut PgConnection,
    conflict: i64,
) -> Result<Option<Dispute>, StoreError> {
    let row = sqlx::query!(
        "SELECT j.tenant_id, j.job_id, j.livemode, j.model, j.currency, j.price_version, s.adapter, c.body,
                t.overage, t.late_cancel, t.partial, p.terms
         FROM conflicts c JOIN events e USING (event_id, livemode) JOIN sources s USING (source_id)
         JOIN jobs j ON j.tenant_id = e.tenant_id AND j.job_id = e.job_id
         JOIN tenants t ON t.tenant_id = j.tenant_id
         JOIN price_versions p ON p.model = j.model AND p.currency = j.currency AND p.version = j.price_version
         WHERE c.conflict_id = $1",
        conflict,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency: Currency = word(&row.currency, "jobs", "currency")?;
    Ok(Some(Dispute {
        tenant: TenantId(row.tenant_id),
        livemode: row.livemode,
        job: JobId(row.job_id),
        adapter: word(&row.adapter, "sources", "adapter")?,
        body: row.body,
        policy: Policy {
            overage: word(&row.overage, "tenants", "overage")?,
            late_cancel: word(&row.late_cancel, "tenants", "late_cancel")?,
            partial: word(&row.partial, "tenants", "partial")?,
        },
        price: Price {
            model: row.model,
            currency,
            version: row.price_version,
            terms: serde_json::from_value(row.terms)
                .map_err(|error| StoreError::inconsistent("price_versions", "terms", error))?,
        },
    }))
}

fn word<T>(text: &str, table: &'static str, column: &'static str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent(table, column, error))
}
