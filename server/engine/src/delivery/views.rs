//! Deliveries: every HTTP attempt, the rejected ones with their reason.

mod senders;

use chrono::{DateTime, Utc};
use domain::{event::DeliveryOutcome, id::EventId};
use sqlx::{PgConnection, Postgres, QueryBuilder};

pub use self::senders::{Sender, senders};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Which deliveries are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Mode; deliveries to unknown sources belong to both.
    pub livemode: bool,
    /// What we made of it.
    pub outcome: Option<DeliveryOutcome>,
    /// Why it was rejected, as a code.
    pub reason: Option<String>,
    /// Source named in the URL.
    pub source: Option<String>,
}

/// One HTTP attempt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Order of arrival.
    pub id: i64,
    /// Source named in the URL.
    pub source_slug: String,
    /// Whether there is such a source.
    pub source_known: bool,
    /// The event it carried.
    pub event: Option<EventId>,
    /// What we made of it.
    pub outcome: DeliveryOutcome,
    /// Why it was rejected, as a code.
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

#[derive(sqlx::FromRow)]
struct Stored {
    delivery_id: i64,
    source_slug: String,
    source_known: bool,
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

const COLUMNS: &str = "SELECT d.delivery_id, d.source_slug, d.source_id IS NOT NULL AS source_known, d.event_id, d.outcome, d.reason,
            d.status, d.sender_id, d.body_bytes, d.remote_address, d.received_at, d.asked
     FROM deliveries d LEFT JOIN sources s USING (source_id) WHERE ";

/// A page of deliveries, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Delivery>, StoreError> {
    let mut query = QueryBuilder::<Postgres>::new(COLUMNS);
    query
        .push("coalesce(s.livemode, ")
        .push_bind(filter.livemode);
    query.push(") = ").push_bind(filter.livemode);
    match filter.outcome {
        // Written out, so that the partial index of rejected deliveries serves it.
        Some(DeliveryOutcome::Rejected) => {
            query.push(" AND d.outcome = 'rejected'");
        }
        Some(outcome) => {
            query.push(" AND d.outcome = ").push_bind(outcome.as_str());
        }
        None => {}
    }
    if let Some(reason) = &filter.reason {
        query
            .push(" AND d.outcome = 'rejected' AND d.reason = ")
            .push_bind(reason.clone());
    }
    if let Some(source) = &filter.source {
        query
            .push(" AND d.source_slug = ")
            .push_bind(source.clone());
    }
    cursor.end(&mut query, "d.delivery_id");
    let stored: Vec<Stored> = query.build_query_as().fetch_all(conn).await?;
    let rows = stored
        .into_iter()
        .map(Delivery::read)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Page::read(rows, &cursor))
}

impl Delivery {
    fn read(row: Stored) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.delivery_id,
            source_slug: row.source_slug,
            source_known: row.source_known,
            event: row.event_id.map(EventId),
            outcome: word("outcome", &row.outcome)?,
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

fn word<T>(column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent("deliveries", column, error))
}
