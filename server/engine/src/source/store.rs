//! SQL of sources and their secrets.

use chrono::{DateTime, Utc};
use domain::id::{SecretId, SourceId};
use sqlx::PgConnection;

use super::{NewSource, SecretRow, SourceError, SourceRow, answer_api::SealedApi, vault::Sealed};
use crate::error::StoreError;

/// A sealed secret that still verifies.
pub(super) struct SealedRow {
    pub(super) id: SecretId,
    pub(super) source: SourceId,
    pub(super) sealed: Sealed,
}

pub(super) async fn insert_source(
    conn: &mut PgConnection,
    id: SourceId,
    new: &NewSource,
    now: DateTime<Utc>,
) -> Result<(), SourceError> {
    let default = domain::signature::Tolerance::of(new.scheme).past_s;
    let tolerance = i32::try_from(new.tolerance_seconds.unwrap_or(default)).unwrap_or(i32::MAX);
    let inserted = sqlx::query!(
        "INSERT INTO sources (source_id, slug, name, adapter, scheme, livemode, header_name, tolerance_seconds,
                              body_limit_bytes, ack_status, jwks_url, jwks, created_at, account)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::jsonb, $13, $14)",
        id.0,
        new.slug,
        new.name,
        new.adapter.as_str(),
        new.scheme.name(),
        new.livemode,
        new.header_name.as_ref().map(|name| name.to_ascii_lowercase()),
        tolerance,
        i32::try_from(new.body_limit_bytes).unwrap_or(i32::MAX),
        i16::try_from(new.ack_status).unwrap_or(i16::MAX),
        new.jwks_url.as_deref(),
        new.jwks.as_deref(),
        now,
        new.account,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match inserted {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("sources_slug") => {
            Err(SourceError::SlugTaken(new.slug.clone()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Columns of `sources` as the database has them.
struct Columns {
    source_id: uuid::Uuid,
    slug: String,
    name: String,
    adapter: String,
    scheme: String,
    livemode: bool,
    header_name: Option<String>,
    account: Option<String>,
    tolerance_seconds: i32,
    body_limit_bytes: i32,
    ack_status: i16,
    jwks_url: Option<String>,
    jwks: Option<String>,
    jwks_fetched_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    disabled_at: Option<DateTime<Utc>>,
}

impl TryFrom<Columns> for SourceRow {
    type Error = StoreError;

    fn try_from(row: Columns) -> Result<Self, StoreError> {
        let number = |column| move |error| StoreError::inconsistent("sources", column, error);
        Ok(Self {
            id: SourceId(row.source_id),
            slug: row.slug,
            name: row.name,
            adapter: (row.adapter.parse()).map_err(|error: domain::code::UnknownWord| {
                StoreError::inconsistent("sources", "adapter", error)
            })?,
            scheme: (row.scheme.parse()).map_err(|error: domain::signature::UnknownScheme| {
                StoreError::inconsistent("sources", "scheme", error)
            })?,
            livemode: row.livemode,
            header_name: row.header_name,
            account: row.account,
            tolerance_seconds: u32::try_from(row.tolerance_seconds)
                .map_err(number("tolerance_seconds"))?,
            body_limit_bytes: u32::try_from(row.body_limit_bytes)
                .map_err(number("body_limit_bytes"))?,
            ack_status: u16::try_from(row.ack_status).map_err(number("ack_status"))?,
            jwks_url: row.jwks_url,
            jwks: row.jwks,
            jwks_fetched_at: row.jwks_fetched_at,
            created_at: row.created_at,
            disabled_at: row.disabled_at,
        })
    }
}

pub(super) async fn list_sources(conn: &mut PgConnection) -> Result<Vec<SourceRow>, StoreError> {
    let rows = sqlx::query_as!(
        Columns,
        "SELECT source_id, slug, name, adapter, scheme, livemode, header_name, account, tolerance_seconds, body_limit_bytes,
                ack_status, jwks_url, jwks::text, jwks_fetched_at, created_at, disabled_at
         FROM sources ORDER BY slug"
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(SourceRow::try_from).collect()
}

pub(super) async fn find_source(
    conn: &mut PgConnection,
    slug: &str,
) -> Result<Option<SourceRow>, StoreError> {
    let row = sqlx::query_as!(
        Columns,
        "SELECT source_id, slug, name, adapter, scheme, livemode, header_name, account, tolerance_seconds, body_limit_bytes,
                ack_status, jwks_url, jwks::text, jwks_fetched_at, created_at, disabled_at
         FROM sources WHERE slug = $1",
        slug
    )
    .fetch_optional(conn)
    .await?;
    row.map(SourceRow::try_from).transpose()
}

pub(super) async fn lock_source(conn: &mut PgConnection, id: SourceId) -> Result<(), StoreError> {
    sqlx::query!(
        "SELECT source_id FROM sources WHERE source_id = $1 FOR NO KEY UPDATE",
        id.0
    )
    .fetch_one(conn)
    .await?;
    Ok(())
}

pub(super) async fn disable_source(
    conn: &mut PgConnection,
    id: SourceId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE sources SET disabled_at = $2 WHERE source_id = $1 AND disabled_at IS NULL",
        id.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn save_jwks(
    conn: &mut PgConnection,
    id: SourceId,
    jwks: &str,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE sources SET jwks = $2::text::jsonb, jwks_fetched_at = $3 WHERE source_id = $1",
        id.0,
        jwks,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn insert_secret(
    conn: &mut PgConnection,
    source: SourceId,
    id: SecretId,
    sealed: &Sealed,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO source_secrets (secret_id, source_id, nonce, ciphertext, created_at) VALUES ($1, $2, $3, $4, $5)",
        id.0,
        source.0,
        &sealed.nonce[..],
        sealed.ciphertext,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether there was an active secret to expire.
pub(super) async fn expire_secret(
    conn: &mut PgConnection,
    source: SourceId,
    id: SecretId,
    at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let updated = sqlx::query!(
        "UPDATE source_secrets SET expires_at = $3
         WHERE secret_id = $1 AND source_id = $2 AND (expires_at IS NULL OR expires_at > $4)",
        id.0,
        source.0,
        at,
        now
    )
    .execute(conn)
    .await?;
    Ok(updated.rows_affected() == 1)
}

pub(super) async fn list_secrets(
    conn: &mut PgConnection,
    source: SourceId,
) -> Result<Vec<SecretRow>, StoreError> {
    let rows = sqlx::query!(
        "SELECT secret_id, source_id, created_at, expires_at FROM source_secrets
         WHERE source_id = $1 ORDER BY created_at DESC, secret_id DESC",
        source.0
    )
    .fetch_all(conn)
    .await?;
    let listed = rows.into_iter().map(|row| SecretRow {
        id: SecretId(row.secret_id),
        source: SourceId(row.source_id),
        created_at: row.created_at,
        expires_at: row.expires_at,
    });
    Ok(listed.collect())
}

/// Secrets of every source that verify at `now`, newest first.
pub(super) async fn active_secrets(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Vec<SealedRow>, StoreError> {
    let rows = sqlx::query!(
        "SELECT secret_id, source_id, nonce, ciphertext FROM source_secrets
         WHERE expires_at IS NULL OR expires_at > $1 ORDER BY created_at DESC, secret_id DESC",
        now
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(SealedRow {
                id: SecretId(row.secret_id),
                source: SourceId(row.source_id),
                sealed: Sealed {
                    nonce: nonce("source_secrets", row.nonce)?,
                    ciphertext: row.ciphertext,
                },
            })
        })
        .collect()
}

pub(super) async fn insert_answer_api(
    conn: &mut PgConnection,
    source: SourceId,
    api: &SealedApi,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO answer_apis (secret_id, source_id, base_url, nonce, ciphertext, set_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        api.id.0,
        source.0,
        api.base,
        &api.sealed.nonce[..],
        api.sealed.ciphertext,
        now
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Whether there was one in use to remove.
pub(super) async fn remove_answer_api(
    conn: &mut PgConnection,
    source: SourceId,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let removed = sqlx::query!(
        "UPDATE answer_apis SET removed_at = $2 WHERE source_id = $1 AND removed_at IS NULL",
        source.0,
        now
    )
    .execute(conn)
    .await?;
    Ok(removed.rows_affected() == 1)
}

pub(super) async fn find_answer_api(
    conn: &mut PgConnection,
    source: SourceId,
) -> Result<Option<SealedApi>, StoreError> {
    let row = sqlx::query!(
        "SELECT secret_id, base_url, nonce, ciphertext FROM answer_apis WHERE source_id = $1 AND removed_at IS NULL",
        source.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(SealedApi {
            id: SecretId(row.secret_id),
            base: row.base_url,
            sealed: Sealed {
                nonce: nonce("answer_apis", row.nonce)?,
                ciphertext: row.ciphertext,
            },
        })
    })
    .transpose()
}

fn nonce(table: &'static str, bytes: Vec<u8>) -> Result<[u8; 24], StoreError> {
    let wrong = |_| StoreError::inconsistent(table, "nonce", "not 24 bytes");
    bytes.try_into().map_err(wrong)
}
