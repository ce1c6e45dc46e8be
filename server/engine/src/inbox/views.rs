//! What people see of the inbox: events, deliveries, conflicts. Pages are keyset pages, newest first.

mod totals;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    event::{DeliveryOutcome, EventState},
    id::{EventId, JobId, SourceId, TenantId},
};
use uuid::Uuid;

use crate::{Engine, error::StoreError};

pub use totals::Totals;

/// Which events to list. Everything left out does not filter.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    /// In this state.
    pub state: Option<EventState>,
    /// From this source.
    pub source: Option<SourceId>,
    /// Of this kind.
    pub kind: Option<String>,
    /// About this job: applied to it, or naming it.
    pub job: Option<JobId>,
    /// Accepted at or after this instant.
    pub since: Option<DateTime<Utc>>,
}

/// An event as it is listed.
#[derive(Clone, Debug)]
pub struct EventRow {
    /// Its id.
    pub id: EventId,
    /// Who sent it.
    pub source: SourceId,
    /// Name of the source.
    pub source_slug: String,
    /// Mode of the source when it was accepted.
    pub livemode: bool,
    /// The sender's id, or one derived.
    pub event_key: String,
    /// What the sender calls it.
    pub kind: String,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// Our job id, where the sender echoes it.
    pub job_hint: Option<JobId>,
    /// When it happened, by the sender's clock.
    pub occurred_at: Option<DateTime<Utc>>,
    /// When it was accepted.
    pub received_at: DateTime<Utc>,
    /// What became of it.
    pub state: EventState,
    /// Why it waits, failed, was ignored or rejected.
    pub reason: Option<String>,
    /// How often it was looked at without a final answer.
    pub attempts: i16,
    /// When a worker looks at it next.
    pub due_at: Option<DateTime<Utc>>,
    /// Tenant of its job, once found.
    pub tenant: Option<TenantId>,
    /// Its job, once found.
    pub job: Option<JobId>,
    /// When its outcome became final.
    pub decided_at: Option<DateTime<Utc>>,
    /// Canonical hash of its content.
    pub canonical_hash: Hash,
    /// Hash of its body as it came.
    pub raw_hash: Hash,
}

/// One HTTP attempt.
#[derive(Clone, Debug)]
pub struct DeliveryRow {
    /// Order of arrival.
    pub id: i64,
    /// Source named in the URL.
    pub source_slug: String,
    /// The event it carried, unless rejected.
    pub event: Option<EventId>,
    /// What we made of it.
    pub outcome: DeliveryOutcome,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// HTTP status answered.
    pub status: i16,
    /// The sender's id of the delivery.
    pub sender_id: Option<String>,
    /// Size of the body, as far as it was read.
    pub body_bytes: i32,
    /// Peer address.
    pub remote_address: Option<String>,
    /// When it arrived.
    pub received_at: DateTime<Utc>,
    /// Whether we asked for it.
    pub asked: bool,
}

/// Other content under an event's key.
#[derive(Clone, Debug)]
pub struct ConflictRow {
    /// Order of discovery.
    pub id: i64,
    /// The event that came first.
    pub event: EventId,
    /// Canonical hash of the other content.
    pub canonical_hash: Hash,
    /// The other content, as it came.
    pub body: Vec<u8>,
    /// When it first came.
    pub received_at: DateTime<Utc>,
}

/// The payload of an event, while retention keeps it.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The raw bytes that were signed.
    pub body: Vec<u8>,
    /// Request headers, credentials left out.
    pub headers: Vec<(String, String)>,
}

/// An event with everything that hangs on it.
#[derive(Clone, Debug)]
pub struct EventDetail {
    /// The event.
    pub event: EventRow,
    /// Its payload; `None` once retention dropped it.
    pub payload: Option<Payload>,
    /// Its newest deliveries, newest first.
    pub deliveries: Vec<DeliveryRow>,
    /// Other contents under its key, oldest first.
    pub conflicts: Vec<ConflictRow>,
}

/// Most deliveries shown with one event.
const DELIVERIES_SHOWN: i64 = 100;
/// Most conflicts shown with one event.
const CONFLICTS_SHOWN: i64 = 20;

impl Engine {
    /// Events below `before` (or the newest), newest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn events(
        &self,
        filter: &EventFilter,
        before: Option<EventId>,
        limit: u16,
    ) -> Result<Vec<EventRow>, StoreError> {
        let rows = sqlx::query_as!(
            Columns,
            r#"SELECT e.event_id, e.source_id, s.slug, e.livemode, e.event_key, e.kind, e.provider_reference, e.job_hint,
                      e.occurred_at, e.received_at, e.state, e.reason, e.attempts, e.due_at, e.tenant_id, e.job_id,
                      e.decided_at, e.canonical_hash, e.raw_hash
               FROM events e JOIN sources s USING (source_id)
               WHERE e.event_id < $1
                 AND ($2::text IS NULL OR e.state = $2)
                 AND ($3::uuid IS NULL OR e.source_id = $3)
                 AND ($4::text IS NULL OR e.kind = $4)
                 AND ($5::uuid IS NULL OR e.job_id = $5 OR e.job_hint = $5)
                 AND ($6::timestamptz IS NULL OR e.received_at >= $6)
               ORDER BY e.event_id DESC LIMIT $7"#,
            before.map_or(i64::MAX, |event| event.0),
            filter.state.map(EventState::as_str),
            filter.source.map(|source| source.0),
            filter.kind.as_deref(),
            filter.job.map(|job| job.0),
            filter.since,
            i64::from(limit),
        )
        .fetch_all(self.pool())
        .await?;
        rows.into_iter().map(EventRow::try_from).collect()
    }

    /// One event with its payload, deliveries and conflicts.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn event(&self, id: EventId) -> Result<Option<EventDetail>, StoreError> {
        let found = sqlx::query_as!(
            Columns,
            r#"SELECT e.event_id, e.source_id, s.slug, e.livemode, e.event_key, e.kind, e.provider_reference, e.job_hint,
                      e.occurred_at, e.received_at, e.state, e.reason, e.attempts, e.due_at, e.tenant_id, e.job_id,
                      e.decided_at, e.canonical_hash, e.raw_hash
               FROM events e JOIN sources s USING (source_id) WHERE e.event_id = $1"#,
            id.0
        )
        .fetch_optional(self.pool())
        .await?;
        let Some(event) = found.map(EventRow::try_from).transpose()? else {
            return Ok(None);
        };
        let payload = sqlx::query!(
            "SELECT body, headers FROM event_payloads WHERE event_id = $1 AND received_at = $2",
            id.0,
            event.received_at
        )
        .fetch_optional(self.pool())
        .await?;
        let payload = payload.map(|row| {
            let headers = serde_json::from_value(row.headers)
                .map_err(|error| StoreError::inconsistent("event_payloads", "headers", error))?;
            let body = row.body;
            Ok::<_, StoreError>(Payload { body, headers })
        });
        Ok(Some(EventDetail {
            event,
            payload: payload.transpose()?,
            deliveries: self.deliveries_of(id).await?,
            conflicts: self.conflicts_of(id).await?,
        }))
    }

    async fn deliveries_of(&self, event: EventId) -> Result<Vec<DeliveryRow>, StoreError> {
        let rows = sqlx::query_as!(
            DeliveryColumns,
            "SELECT delivery_id, source_slug, event_id, outcome, reason, status, sender_id, body_bytes, remote_address,
                    received_at, asked
             FROM deliveries WHERE event_id = $1 ORDER BY delivery_id DESC LIMIT $2",
            event.0,
            DELIVERIES_SHOWN
        )
        .fetch_all(self.pool())
        .await?;
        rows.into_iter().map(DeliveryRow::try_from).collect()
    }

    async fn conflicts_of(&self, event: EventId) -> Result<Vec<ConflictRow>, StoreError> {
        let rows = sqlx::query!(
            "SELECT conflict_id, event_id, canonical_hash, body, received_at
             FROM conflicts WHERE event_id = $1 ORDER BY conflict_id LIMIT $2",
            event.0,
            CONFLICTS_SHOWN
        )
        .fetch_all(self.pool())
        .await?;
        let read = rows.into_iter().map(|row| {
            Ok(ConflictRow {
                id: row.conflict_id,
                event: EventId(row.event_id),
                canonical_hash: hash("conflicts", "canonical_hash", row.canonical_hash)?,
                body: row.body,
                received_at: row.received_at,
            })
        });
        read.collect()
    }

    /// Refused deliveries below `before` (or the newest), newest first.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn rejected_deliveries(
        &self,
        before: Option<i64>,
        limit: u16,
    ) -> Result<Vec<DeliveryRow>, StoreError> {
        let rows = sqlx::query_as!(
            DeliveryColumns,
            "SELECT delivery_id, source_slug, event_id, outcome, reason, status, sender_id, body_bytes, remote_address,
                    received_at, asked
             FROM deliveries WHERE outcome = 'rejected' AND delivery_id < $1 ORDER BY delivery_id DESC LIMIT $2",
            before.unwrap_or(i64::MAX),
            i64::from(limit)
        )
        .fetch_all(self.pool())
        .await?;
        rows.into_iter().map(DeliveryRow::try_from).collect()
    }
}

fn hash(table: &'static str, column: &'static str, bytes: Vec<u8>) -> Result<Hash, StoreError> {
    Hash::try_from(bytes).map_err(|_| StoreError::inconsistent(table, column, "not 32 bytes"))
}

/// Columns of `events` as the database has them.
struct Columns {
    event_id: i64,
    source_id: Uuid,
    slug: String,
    livemode: bool,
    event_key: String,
    kind: String,
    provider_reference: Option<String>,
    job_hint: Option<Uuid>,
    occurred_at: Option<DateTime<Utc>>,
    received_at: DateTime<Utc>,
    state: String,
    reason: Option<String>,
    attempts: i16,
    due_at: Option<DateTime<Utc>>,
    tenant_id: Option<Uuid>,
    job_id: Option<Uuid>,
    decided_at: Option<DateTime<Utc>>,
    canonical_hash: Vec<u8>,
    raw_hash: Vec<u8>,
}

impl TryFrom<Columns> for EventRow {
    type Error = StoreError;

    fn try_from(row: Columns) -> Result<Self, StoreError> {
        let state = row.state.parse();
        Ok(Self {
            id: EventId(row.event_id),
            source: SourceId(row.source_id),
            source_slug: row.slug,
            livemode: row.livemode,
            event_key: row.event_key,
            kind: row.kind,
            provider_reference: row.provider_reference,
            job_hint: row.job_hint.map(JobId),
            occurred_at: row.occurred_at,
            received_at: row.received_at,
            state: state.map_err(|error: domain::code::UnknownWord| {
                StoreError::inconsistent("events", "state", error)
            })?,
            reason: row.reason,
            attempts: row.attempts,
            due_at: row.due_at,
            tenant: row.tenant_id.map(TenantId),
            job: row.job_id.map(JobId),
            decided_at: row.decided_at,
            canonical_hash: hash("events", "canonical_hash", row.canonical_hash)?,
            raw_hash: hash("events", "raw_hash", row.raw_hash)?,
        })
    }
}

/// Columns of `deliveries` as the database has them.
struct DeliveryColumns {
    delivery_id: i64,
    source_slug: String,
    event_id: Option<i64>,
    outcome: String,
    reason: Option<String>,
    status: i16,
    sender_id: Option<String>,
    body_bytes: i32,
    remote_address: Option<String>,
    received_at: DateTime<Utc>,
    asked: bool,
}

impl TryFrom<DeliveryColumns> for DeliveryRow {
    type Error = StoreError;

    fn try_from(row: DeliveryColumns) -> Result<Self, StoreError> {
        let outcome = row
            .outcome
            .parse()
            .map_err(|error: domain::code::UnknownWord| {
                StoreError::inconsistent("deliveries", "outcome", error)
            })?;
        Ok(Self {
            id: row.delivery_id,
            source_slug: row.source_slug,
            event: row.event_id.map(EventId),
            outcome,
            reason: row.reason,
            status: row.status,
            sender_id: row.sender_id,
            body_bytes: row.body_bytes,
            remote_address: row.remote_address,
            received_at: row.received_at,
            asked: row.asked,
        })
    }
}
