//! Claiming due events.

use chrono::{DateTime, Utc};
use domain::{
    adapter::Adapter,
    id::{EventId, JobId, SourceId},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::numbers;
use crate::error::StoreError;

/// Bodies a batch may hold in memory, in bytes; one larger body is a batch of its own.
const MOST_BYTES: i64 = 16 << 20;

/// A claimed event, locked until the transaction ends.
#[derive(Clone, Debug)]
pub struct Due {
    /// Its id.
    pub id: EventId,
    /// When it was due.
    pub due_at: DateTime<Utc>,
    pub(in crate::settlement) source: SourceId,
    pub(in crate::settlement) livemode: bool,
    pub(in crate::settlement) adapter: Adapter,
    pub(in crate::settlement) job_hint: Option<JobId>,
    pub(in crate::settlement) provider_reference: Option<String>,
    pub(in crate::settlement) received_at: DateTime<Utc>,
    pub(in crate::settlement) attempts: i16,
    /// Missing once retention has dropped it.
    pub(in crate::settlement) body: Option<Vec<u8>>,
}

/// A row of either claim.
struct DueRow {
    event_id: i64,
    due_at: DateTime<Utc>,
    source_id: Uuid,
    livemode: bool,
    adapter: String,
    job_hint: Option<Uuid>,
    provider_reference: Option<String>,
    received_at: DateTime<Utc>,
    attempts: i16,
    body: Option<Vec<u8>>,
}

impl TryFrom<DueRow> for Due {
    type Error = StoreError;

    fn try_from(row: DueRow) -> Result<Self, StoreError> {
        Ok(Self {
            id: EventId(row.event_id),
            due_at: row.due_at,
            source: SourceId(row.source_id),
            livemode: row.livemode,
            adapter: row
                .adapter
                .parse()
                .map_err(|error| StoreError::inconsistent("sources", "adapter", error))?,
            job_hint: row.job_hint.map(JobId),
            provider_reference: row.provider_reference,
            received_at: row.received_at,
            attempts: row.attempts,
            body: row.body,
        })
    }
}

/// Claims what is longest due. The lock is taken before the body is read, so a worker that is passed
/// over reads nothing.
///
/// A batch ends before its bodies come to more than [`MOST_BYTES`], with one event at least: what it leaves
/// out is still due.
pub(in crate::settlement) async fn claim_shard(
    conn: &mut PgConnection,
    (shard, of): (i16, i16),
    limit: i64,
    now: DateTime<Utc>,
) -> Result<Vec<Due>, StoreError> {
    let rows = sqlx::query_as!(
        DueRow,
        r#"WITH due AS MATERIALIZED (
               SELECT event_id, due_at, source_id, livemode, job_hint, provider_reference, received_at, attempts
               FROM events WHERE due_at <= $1 AND shard % $2 = $3
               ORDER BY due_at, event_id LIMIT $4 FOR UPDATE SKIP LOCKED),
           weighed AS (
               SELECT due.*, p.body, sum(coalesce(octet_length(p.body), 0)) OVER (ORDER BY due.due_at, due.event_id)
                      - coalesce(octet_length(p.body), 0) AS bytes_before
               FROM due
               LEFT JOIN event_payloads p ON p.event_id = due.event_id AND p.received_at = due.received_at)
           SELECT event_id AS "event_id!", due_at AS "due_at!", source_id AS "source_id!", livemode AS "livemode!",
                  s.adapter, job_hint, provider_reference, received_at AS "received_at!", attempts AS "attempts!",
                  body AS "body?"
           FROM weighed JOIN (SELECT source_id, adapter FROM sources) s USING (source_id)
           WHERE bytes_before < $5
           ORDER BY due_at, event_id"#,
        now,
        of,
        shard,
        limit,
        MOST_BYTES,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Due::try_from).collect()
}

/// Claims named events, as far as they are still due and free.
pub(in crate::settlement) async fn claim_only(
    conn: &mut PgConnection,
    events: &[EventId],
) -> Result<Vec<Due>, StoreError> {
    let rows = sqlx::query_as!(
        DueRow,
        r#"WITH due AS MATERIALIZED (
               SELECT event_id, due_at, source_id, livemode, job_hint, provider_reference, received_at, attempts
               FROM events WHERE event_id = ANY ($1) AND due_at IS NOT NULL
               ORDER BY due_at, event_id FOR UPDATE SKIP LOCKED)
           SELECT due.event_id, due.due_at AS "due_at!", due.source_id, due.livemode, s.adapter, due.job_hint,
                  due.provider_reference, due.received_at, due.attempts, p.body AS "body?"
           FROM due JOIN sources s USING (source_id)
           LEFT JOIN event_payloads p ON p.event_id = due.event_id AND p.received_at = due.received_at
           ORDER BY due.due_at, due.event_id"#,
        &numbers(events),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Due::try_from).collect()
}
