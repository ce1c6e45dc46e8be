//! SQL of the inbox. One statement a flush for new events; repeats take two more.
//!
//! Rows come sorted by (source, key), so that concurrent flushes meet the unique index in one order and
//! cannot deadlock on it.

use chrono::{DateTime, Utc};
use domain::id::EventId;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Delivery, Rejected};
use crate::error::StoreError;

/// An event that was there before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) event: EventId,
    pub(super) livemode: bool,
    /// Whether its content is that of the delivery.
    pub(super) same: bool,
}

/// Body sizes fit the column: the largest body limit does.
fn size(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

fn status(status: u16) -> i16 {
    i16::try_from(status).unwrap_or(i16::MAX)
}

/// Inserts events, payloads and their first deliveries; returns the id of each event that was new, by
/// the delivery's index. Only the constraint `events_key` makes one not new.
pub(super) async fn insert_new(
    conn: &mut PgConnection,
    deliveries: &[&Delivery],
) -> Result<Vec<(usize, EventId)>, StoreError> {
    let column = Columns::of(deliveries);
    let rows = sqlx::query!(
        r#"WITH input AS (
            SELECT * FROM unnest($1::uuid[], $2::text[], $3::bool[], $4::text[], $5::bytea[], $6::bytea[], $7::text[],
                                 $8::text[], $9::uuid[], $10::timestamptz[], $11::timestamptz[], $12::int2[],
                                 $13::bytea[], $14::text[], $15::text[], $16::text[], $17::int2[], $18::bool[])
                WITH ORDINALITY
                AS i (source_id, source_slug, livemode, event_key, canonical_hash, raw_hash, kind,
                      provider_reference, job_hint, occurred_at, received_at, shard,
                      body, headers, sender_id, remote_address, status, asked, n)
        ), fresh AS (
            INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                                job_hint, occurred_at, received_at, shard, state, due_at)
            SELECT source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                   job_hint, occurred_at, received_at, shard, 'received', received_at
            FROM input ORDER BY n
            ON CONFLICT ON CONSTRAINT events_key DO NOTHING
            RETURNING event_id, source_id, event_key
        ), stored AS (
            SELECT f.event_id, i.* FROM fresh f JOIN input i USING (source_id, event_key)
        ), payloads AS (
            INSERT INTO event_payloads (event_id, received_at, body, headers)
            SELECT event_id, received_at, body, headers::jsonb FROM stored
        ), told AS (
            INSERT INTO deliveries (source_slug, source_id, event_id, outcome, status, sender_id, body_bytes,
                                    remote_address, received_at, asked)
            SELECT source_slug, source_id, event_id, 'accepted', status, sender_id, octet_length(body),
                   remote_address, received_at, asked
            FROM stored
        )
        SELECT n AS "n!", event_id AS "event_id!" FROM stored"#,
        &column.source_id,
        &column.source_slug as &[&str],
        &column.livemode,
        &column.event_key as &[&str],
        &column.canonical_hash as &[&[u8]],
        &column.raw_hash as &[&[u8]],
        &column.kind as &[&str],
        &column.provider_reference as &[Option<&str>],
        &column.job_hint as &[Option<Uuid>],
        &column.occurred_at as &[Option<DateTime<Utc>>],
        &column.received_at,
        &column.shard,
        &column.body as &[&[u8]],
        &column.headers as &[&str],
        &column.sender_id as &[Option<&str>],
        &column.remote_address as &[Option<&str>],
        &column.status,
        &column.asked,
    )
    .fetch_all(conn)
    .await?;
    let index = |n: i64| usize::try_from(n - 1).unwrap_or(usize::MAX);
    Ok(rows
        .into_iter()
        .map(|row| (index(row.n), EventId(row.event_id)))
        .collect())
}

/// The deliveries, a column each.
#[derive(Default)]
struct Columns<'a> {
    source_id: Vec<Uuid>,
    source_slug: Vec<&'a str>,
    livemode: Vec<bool>,
    event_key: Vec<&'a str>,
    canonical_hash: Vec<&'a [u8]>,
    raw_hash: Vec<&'a [u8]>,
    kind: Vec<&'a str>,
    provider_reference: Vec<Option<&'a str>>,
    job_hint: Vec<Option<Uuid>>,
    occurred_at: Vec<Option<DateTime<Utc>>>,
    received_at: Vec<DateTime<Utc>>,
    shard: Vec<i16>,
    body: Vec<&'a [u8]>,
    headers: Vec<&'a str>,
    sender_id: Vec<Option<&'a str>>,
    remote_address: Vec<Option<&'a str>>,
    status: Vec<i16>,
    asked: Vec<bool>,
}

impl<'a> Columns<'a> {
    fn of(deliveries: &[&'a Delivery]) -> Self {
        let mut column = Self::default();
        for delivery in deliveries {
            let envelope = &delivery.envelope;
            column.source_id.push(delivery.source.0);
            column.source_slug.push(&delivery.source_slug);
            column.livemode.push(delivery.livemode);
            column.event_key.push(&envelope.event_key);
            column.canonical_hash.push(&envelope.hash.0);
            column.raw_hash.push(&delivery.raw_hash.0);
            column.kind.push(&envelope.kind);
            column
                .provider_reference
                .push(envelope.provider_reference.as_deref());
            column.job_hint.push(envelope.job_hint.map(|job| job.0));
            column.occurred_at.push(envelope.occurred_at);
            column.received_at.push(delivery.received_at);
            column.shard.push(envelope.shard(delivery.source));
            column.body.push(&delivery.body);
            column.headers.push(&delivery.headers);
            column.sender_id.push(delivery.sender_id.as_deref());
            column
                .remote_address
                .push(delivery.remote_address.as_deref());
            column.status.push(status(delivery.status));
            column.asked.push(delivery.asked);
        }
        column
    }
}

/// The events of these deliveries, by index. A statement of its own after the insert: it sees what won
/// the race.
pub(super) async fn find_known(
    conn: &mut PgConnection,
    deliveries: &[&Delivery],
) -> Result<Vec<(usize, Known)>, StoreError> {
    let sources: Vec<_> = deliveries
        .iter()
        .map(|delivery| delivery.source.0)
        .collect();
    let keys: Vec<_> = deliveries
        .iter()
        .map(|delivery| delivery.envelope.event_key.as_str())
        .collect();
    let rows = sqlx::query!(
        r#"SELECT i.n AS "n!", e.event_id, e.livemode, e.canonical_hash
           FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS i (source_id, event_key, n)
           JOIN events e USING (source_id, event_key)"#,
        &sources,
        &keys as &[&str],
    )
    .fetch_all(conn)
    .await?;
    let known = rows.into_iter().filter_map(|row| {
        let index = usize::try_from(row.n - 1).ok()?;
        let same = deliveries.get(index)?.envelope.hash.0[..] == row.canonical_hash;
        let event = EventId(row.event_id);
        let livemode = row.livemode;
        Some((
            index,
            Known {
                event,
                livemode,
                same,
            },
        ))
    });
    Ok(known.collect())
}

/// Records repeats of known events: a delivery each, and the content where it differs. The first time a
/// content is seen is enough, which the constraint `conflicts_content` decides.
pub(super) async fn insert_repeats(
    conn: &mut PgConnection,
    repeats: &[(&Delivery, Known)],
) -> Result<(), StoreError> {
    let told: Vec<_> = repeats.iter().map(|(delivery, _)| *delivery).collect();
    let column = Columns::of(&told);
    let event_ids: Vec<_> = repeats.iter().map(|(_, known)| known.event.0).collect();
    let outcomes: Vec<_> = repeats
        .iter()
        .map(|(_, known)| if known.same { "duplicate" } else { "conflict" })
        .collect();
    let sizes: Vec<_> = told
        .iter()
        .map(|delivery| size(delivery.body.len()))
        .collect();
    let others: Vec<_> = repeats.iter().filter(|(_, known)| !known.same).collect();
    let other_events: Vec<_> = others.iter().map(|(_, known)| known.event.0).collect();
    let other_modes: Vec<_> = others.iter().map(|(_, known)| known.livemode).collect();
    let other = Columns::of(
        &others
            .iter()
            .map(|(delivery, _)| *delivery)
            .collect::<Vec<_>>(),
    );
    sqlx::query!(
        "WITH kept AS (
            INSERT INTO conflicts (event_id, livemode, canonical_hash, raw_hash, body, received_at)
            SELECT * FROM unnest($9::int8[], $10::bool[], $11::bytea[], $12::bytea[], $13::bytea[], $14::timestamptz[])
            ON CONFLICT ON CONSTRAINT conflicts_content DO NOTHING
        )
        INSERT INTO deliveries (source_slug, source_id, event_id, outcome, status, sender_id, body_bytes,
                                remote_address, received_at, asked)
        SELECT * FROM unnest($1::text[], $2::uuid[], $3::int8[], $4::text[], $5::int2[], $6::text[], $7::int4[],
                             $8::text[], $15::timestamptz[], $16::bool[])",
        &column.source_slug as &[&str],
        &column.source_id,
        &event_ids,
        &outcomes as &[&str],
        &column.status,
        &column.sender_id as &[Option<&str>],
        &sizes,
        &column.remote_address as &[Option<&str>],
        &other_events,
        &other_modes,
        &other.canonical_hash as &[&[u8]],
        &other.raw_hash as &[&[u8]],
        &other.body as &[&[u8]],
        &other.received_at,
        &column.received_at,
        &column.asked,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records deliveries that were refused.
pub(super) async fn insert_rejected(
    conn: &mut PgConnection,
    rejected: &[Rejected],
) -> Result<(), StoreError> {
    let slugs: Vec<_> = rejected
        .iter()
        .map(|one| one.source_slug.as_str())
        .collect();
    let sources: Vec<_> = rejected
        .iter()
        .map(|one| one.source.map(|source| source.0))
        .collect();
    let reasons: Vec<_> = rejected.iter().map(|one| one.reason).collect();
    let statuses: Vec<_> = rejected.iter().map(|one| status(one.status)).collect();
    let senders: Vec<_> = rejected
        .iter()
        .map(|one| one.sender_id.as_deref())
        .collect();
    let sizes: Vec<_> = rejected.iter().map(|one| size(one.body_bytes)).collect();
    let addresses: Vec<_> = rejected
        .iter()
        .map(|one| one.remote_address.as_deref())
        .collect();
    let times: Vec<_> = rejected.iter().map(|one| one.received_at).collect();
    sqlx::query!(
        "INSERT INTO deliveries (source_slug, source_id, outcome, reason, status, sender_id, body_bytes,
                                 remote_address, received_at)
         SELECT slug, source_id, 'rejected', reason, status, sender_id, body_bytes, remote_address, received_at
         FROM unnest($1::text[], $2::uuid[], $3::text[], $4::int2[], $5::text[], $6::int4[], $7::text[],
                     $8::timestamptz[])
             AS i (slug, source_id, reason, status, sender_id, body_bytes, remote_address, received_at)",
        &slugs as &[&str],
        &sources as &[Option<Uuid>],
        &reasons as &[&str],
        &statuses,
        &senders as &[Option<&str>],
        &sizes,
        &addresses as &[Option<&str>],
        &times,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn prune_rejected(conn: &mut PgConnection, keep: i32) -> Result<i64, StoreError> {
    let gone = sqlx::query_scalar!("SELECT prune_rejected_deliveries($1)", keep)
        .fetch_one(conn)
        .await?;
    Ok(gone.unwrap_or(0))
}
