//! Events as staff list them. One event with all that hangs on it is the inbox's to show.

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    event::EventState,
    id::{EventId, JobId, SourceId, TenantId},
};
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Which events are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Mode.
    pub livemode: bool,
    /// State.
    pub state: Option<EventState>,
    /// A person should look: waiting, failed, rejected or conflict.
    pub attention: bool,
    /// Came again under the same key with other content.
    pub contradicted: bool,
    /// Source, by its slug.
    pub source: Option<String>,
    /// What the sender calls it.
    pub kind: Option<String>,
    /// Job.
    pub job: Option<JobId>,
    /// Received at or after.
    pub since: Option<DateTime<Utc>>,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its number.
    pub id: EventId,
    /// Who sent it.
    pub source: SourceId,
    /// The source's slug.
    pub source_slug: String,
    /// Mode.
    pub livemode: bool,
    /// The sender's id, or a derived one.
    pub key: String,
    /// What the sender calls it.
    pub kind: String,
    /// State.
    pub state: EventState,
    /// Why it is in that state, as a code.
    pub reason: Option<String>,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// The job, once found.
    pub job: Option<(TenantId, JobId)>,
    /// Hash of the billing-relevant content.
    pub canonical_hash: Hash,
    /// Hash of the body.
    pub raw_hash: Hash,
    /// How often it was looked at without a final answer.
    pub attempts: i16,
    /// When a worker looks at it next.
    pub due_at: Option<DateTime<Utc>>,
    /// When it happened, by the sender's clock.
    pub occurred_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub received_at: DateTime<Utc>,
    /// When its outcome became final.
    pub decided_at: Option<DateTime<Utc>>,
    /// Deliveries after the first that were the same, counted up to two hundred.
    pub duplicates: i64,
    /// Deliveries under the same key with other content.
    pub conflicts: i64,
    /// Whether there is other content under its key that nobody has decided on.
    pub contradicted: bool,
}

#[derive(sqlx::FromRow)]
struct Stored {
    event_id: i64,
    source_id: Uuid,
    slug: String,
    livemode: bool,
    event_key: String,
    kind: String,
    state: String,
    reason: Option<String>,
    provider_reference: Option<String>,
    tenant_id: Option<Uuid>,
    job_id: Option<Uuid>,
    canonical_hash: Vec<u8>,
    raw_hash: Vec<u8>,
    attempts: i16,
    due_at: Option<DateTime<Utc>>,
    occurred_at: Option<DateTime<Utc>>,
    received_at: DateTime<Utc>,
    decided_at: Option<DateTime<Utc>>,
    duplicates: i64,
    conflicts: i64,
    contradicted: bool,
}

/// Deliveries are counted up to a bound through their index by event.
const COLUMNS: &str = "SELECT e.event_id, e.source_id, s.slug, e.livemode, e.event_key, e.kind, e.state, e.reason,
            e.provider_reference, e.tenant_id, e.job_id, e.canonical_hash, e.raw_hash, e.attempts, e.due_at,
            e.occurred_at, e.received_at, e.decided_at, d.duplicates, d.conflicts,
            EXISTS (SELECT FROM open_conflicts c WHERE c.event_id = e.event_id) AS contradicted
     FROM events e
     JOIN sources s USING (source_id)
     CROSS JOIN LATERAL (
         SELECT count(*) FILTER (WHERE outcome = 'duplicate') AS duplicates,
                count(*) FILTER (WHERE outcome = 'conflict') AS conflicts
         FROM (SELECT outcome FROM deliveries WHERE event_id = e.event_id LIMIT 201) d) d
     WHERE ";

/// A page of events, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Event>, StoreError> {
    let mut query = QueryBuilder::<Postgres>::new(COLUMNS);
    query.push("e.livemode = ").push_bind(filter.livemode);
    if let Some(state) = filter.state {
        query.push(" AND e.state = ").push_bind(state.as_str());
    }
    if filter.attention {
        query.push(" AND e.state IN ('waiting', 'failed', 'rejected', 'conflict')");
    }
    if filter.contradicted {
        query.push(" AND e.event_id IN (SELECT event_id FROM open_conflicts)");
    }
    if let Some(source) = &filter.source {
        query.push(" AND s.slug = ").push_bind(source.clone());
    }
    if let Some(kind) = &filter.kind {
        query.push(" AND e.kind = ").push_bind(kind.clone());
    }
    if let Some(job) = filter.job {
        query.push(" AND e.job_id = ").push_bind(job.0);
    }
    if let Some(since) = filter.since {
        query.push(" AND e.received_at >= ").push_bind(since);
    }
    cursor.end(&mut query, "e.event_id");
    let stored: Vec<Stored> = query.build_query_as().fetch_all(conn).await?;
    let rows = stored
        .into_iter()
        .map(Event::read)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Page::read(rows, &cursor))
}

impl Event {
    fn read(row: Stored) -> Result<Self, StoreError> {
        Ok(Self {
            id: EventId(row.event_id),
            source: SourceId(row.source_id),
            source_slug: row.slug,
            livemode: row.livemode,
            key: row.event_key,
            kind: row.kind,
            state: word("state", &row.state)?,
            reason: row.reason,
            provider_reference: row.provider_reference,
            job: row.tenant_id.map(TenantId).zip(row.job_id.map(JobId)),
            canonical_hash: hash("events", "canonical_hash", &row.canonical_hash)?,
            raw_hash: hash("events", "raw_hash", &row.raw_hash)?,
            attempts: row.attempts,
            due_at: row.due_at,
            occurred_at: row.occurred_at,
            received_at: row.received_at,
            decided_at: row.decided_at,
            duplicates: row.duplicates,
            conflicts: row.conflicts,
            contradicted: row.contradicted,
        })
    }
}

fn word<T>(column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent("events", column, error))
}

fn hash(table: &'static str, column: &'static str, bytes: &[u8]) -> Result<Hash, StoreError> {
    Hash::try_from(bytes.to_vec())
        .map_err(|_| StoreError::inconsistent(table, column, "not a SHA-256 digest"))
}
