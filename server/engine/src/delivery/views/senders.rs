//! Sources, and how their deliveries fare.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StoreError;

/// A source as it is set up, with how it fares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sender {
    /// Name in the webhook URL.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Adapter.
    pub adapter: String,
    /// Signature scheme.
    pub scheme: String,
    /// Mode.
    pub livemode: bool,
    /// Largest age of a signed timestamp.
    pub tolerance_seconds: i32,
    /// Largest body.
    pub body_limit_bytes: i32,
    /// Status of an accepted delivery.
    pub ack_status: i16,
    /// Secrets that verify now.
    pub active_secrets: i64,
    /// Since when its deliveries are refused.
    pub disabled_at: Option<DateTime<Utc>>,
    /// Since when its events wait.
    pub frozen_at: Option<DateTime<Utc>>,
    /// Where its provider is asked how a job stands.
    pub answers_at: Option<String>,
    /// When its newest event was accepted.
    pub last_event_at: Option<DateTime<Utc>>,
    /// Rejected among the newest thousand rejected deliveries.
    pub rejected: i64,
}

/// The sources, by slug.
///
/// # Errors
/// [`StoreError`].
pub async fn senders(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Vec<Sender>, StoreError> {
    // The newest event of a source is found among the newest events of all, or not at all: a source
    // that has been silent for that long shows no time rather than cost a scan.
    let rows = sqlx::query!(
        r#"SELECT s.slug, s.name, s.adapter, s.scheme, s.livemode, s.tolerance_seconds, s.body_limit_bytes,
                  s.ack_status, s.disabled_at,
                  (SELECT f.frozen_at FROM freezes f WHERE f.source_id = s.source_id AND f.lifted_at IS NULL) AS frozen_at,
                  (SELECT count(*) FROM source_secrets k
                   WHERE k.source_id = s.source_id AND (k.expires_at IS NULL OR k.expires_at > $1)) AS "active_secrets!",
                  (SELECT p.base_url FROM answer_apis p
                   WHERE p.source_id = s.source_id AND p.removed_at IS NULL) AS answers_at,
                  last.received_at AS "last_event_at?",
                  coalesce(bad.rejected, 0) AS "rejected!"
           FROM sources s
           LEFT JOIN (SELECT source_id, max(received_at) AS received_at
                      FROM (SELECT source_id, received_at FROM events ORDER BY event_id DESC LIMIT 20000) e
                      GROUP BY source_id) last USING (source_id)
           LEFT JOIN (SELECT source_slug, count(*) AS rejected
                      FROM (SELECT source_slug FROM deliveries WHERE outcome = 'rejected'
                            ORDER BY delivery_id DESC LIMIT 1000) d
                      GROUP BY source_slug) bad ON bad.source_slug = s.slug
           ORDER BY s.slug LIMIT 200"#,
        now,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| Sender {
        slug: row.slug,
        name: row.name,
        adapter: row.adapter,
        scheme: row.scheme,
        livemode: row.livemode,
        tolerance_seconds: row.tolerance_seconds,
        body_limit_bytes: row.body_limit_bytes,
        ack_status: row.ack_status,
        active_secrets: row.active_secrets,
        disabled_at: row.disabled_at,
        frozen_at: row.frozen_at,
        answers_at: row.answers_at,
        last_event_at: row.last_event_at,
        rejected: row.rejected,
    });
    Ok(read.collect())
}
