//! Jobs whose verdict is overdue: the work was ordered, and nobody knows how it ended.
//!
//! Cost: a partial index of what is in flight, read from its oldest end.

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    id::{EventId, JobId, TenantId},
    job::State,
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use crate::{
    ask::views::{Told, told_of},
    error::StoreError,
    ids,
};

/// After how long a job without a verdict stands on the desk when nothing else is said.
pub const OVERDUE: TimeDelta = TimeDelta::hours(1);
/// Most jobs that are shown at once.
pub const MOST: i64 = 200;

/// A job whose verdict is overdue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uncertain {
    /// The job.
    pub job: JobId,
    /// Its tenant.
    pub tenant: TenantId,
    /// The tenant's name.
    pub tenant_name: String,
    /// Model.
    pub model: String,
    /// Pending or running.
    pub state: State,
    /// Who works on it.
    pub source_slug: Option<String>,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// What it holds of the wallet.
    pub held: Amount,
    /// Whether the customer asked for its end.
    pub cancel_requested: bool,
    /// When it was accepted.
    pub submitted_at: DateTime<Utc>,
    /// The last thing that was heard of it.
    pub last_heard: Option<Heard>,
    /// Whether its provider can be asked.
    pub can_be_asked: bool,
    /// What came of asking the last time.
    pub last_answer: Option<Told>,
}

/// The last thing that was heard of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    /// The event.
    pub event: EventId,
    /// What the sender calls it.
    pub kind: String,
    /// When it arrived.
    pub at: DateTime<Utc>,
}

/// How many there are, and what they hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AtStake {
    /// How many of one currency.
    pub jobs: i64,
    /// What they hold together.
    pub held: Amount,
}

/// Jobs in flight that were accepted before an instant, oldest first, at most [`MOST`].
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    livemode: bool,
    before: DateTime<Utc>,
) -> Result<Vec<Uncertain>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT j.job_id, j.tenant_id, t.name AS tenant_name, j.model, j.state, s.slug AS "slug?", j.provider_reference,
                  j.currency, j.held, j.cancel_requested_at IS NOT NULL AS "cancel_requested!", j.submitted_at,
                  e.event_id AS "event_id?", e.kind AS "kind?", e.received_at AS "heard_at?",
                  j.provider_reference IS NOT NULL AND EXISTS (
                      SELECT FROM answer_apis p WHERE p.source_id = j.source_id AND p.removed_at IS NULL) AS "can_be_asked!",
                  w.outcome AS "outcome?", w.status AS "answer_status?", w.event_id AS "answer_event?",
                  w.answered_at AS "answered_at?"
           FROM jobs j JOIN tenants t USING (tenant_id) LEFT JOIN sources s USING (source_id)
           LEFT JOIN LATERAL (SELECT event_id, kind, received_at FROM events
                              WHERE events.job_id = j.job_id ORDER BY event_id DESC LIMIT 1) e ON true
           LEFT JOIN LATERAL (SELECT outcome, status, event_id, answered_at FROM ask_answers a
                              WHERE a.tenant_id = j.tenant_id AND a.job_id = j.job_id
                              ORDER BY number DESC LIMIT 1) w ON true
           WHERE j.state IN ('pending', 'running') AND j.livemode = $1 AND j.job_id < $2
           ORDER BY j.job_id LIMIT $3"#,
        livemode,
        ids::first_at(before),
        MOST,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let told = row.outcome.zip(row.answered_at);
            let told = told
                .map(|(outcome, at)| told_of((&outcome, row.answer_status, row.answer_event), at));
            let heard = row.event_id.zip(row.kind).zip(row.heard_at);
            Ok(Uncertain {
                job: JobId(row.job_id),
                tenant: TenantId(row.tenant_id),
                tenant_name: row.tenant_name,
                model: row.model,
                state: row
                    .state
                    .parse()
                    .map_err(|error| StoreError::inconsistent("jobs", "state", error))?,
                source_slug: row.slug,
                provider_reference: row.provider_reference,
                held: held(row.held, &row.currency)?,
                cancel_requested: row.cancel_requested,
                submitted_at: row.submitted_at,
                last_heard: heard.map(|((event, kind), at)| Heard {
                    event: EventId(event),
                    kind,
                    at,
                }),
                can_be_asked: row.can_be_asked,
                last_answer: told.transpose()?,
            })
        })
        .collect()
}

/// What is at stake in all of them, by currency, the most first.
///
/// # Errors
/// [`StoreError`].
pub async fn at_stake(
    conn: &mut PgConnection,
    livemode: bool,
    before: DateTime<Utc>,
) -> Result<Vec<AtStake>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT currency, count(*) AS "jobs!", sum(held) AS "held!" FROM jobs
           WHERE state IN ('pending', 'running') AND livemode = $1 AND job_id < $2
           GROUP BY currency ORDER BY count(*) DESC, currency"#,
        livemode,
        ids::first_at(before),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(AtStake {
                jobs: row.jobs,
                held: held(row.held, &row.currency)?,
            })
        })
        .collect()
}

fn held(value: Decimal, currency: &str) -> Result<Amount, StoreError> {
    let currency: Currency = currency
        .parse()
        .map_err(|error| StoreError::inconsistent("jobs", "currency", error))?;
    Amount::exact(value, currency).map_err(|error| StoreError::inconsistent("jobs", "held", error))
}
