//! Sessions in and out.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{SessionHash, Stored};
use crate::error::StoreError;

/// Keeps a new session. Returns false when the id is taken.
///
/// # Errors
/// [`StoreError`].
pub async fn create(
    conn: &mut PgConnection,
    session: SessionHash,
    stored: &Stored,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO sessions (session_hash, data, expires_at) VALUES ($1, $2, $3)
         ON CONFLICT (session_hash) DO NOTHING",
        session.0.as_slice(),
        stored.data,
        stored.expires_at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Keeps what an existing session holds now. A session that was deleted meanwhile stays deleted, so
/// that signing out cannot be undone by a page that was still loading.
///
/// # Errors
/// [`StoreError`].
pub async fn save(
    conn: &mut PgConnection,
    session: SessionHash,
    stored: &Stored,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE sessions SET data = $2, expires_at = $3 WHERE session_hash = $1",
        session.0.as_slice(),
        stored.data,
        stored.expires_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The session, unless it has expired.
///
/// # Errors
/// [`StoreError`].
pub async fn load(
    conn: &mut PgConnection,
    session: SessionHash,
    now: DateTime<Utc>,
) -> Result<Option<Stored>, StoreError> {
    let row = sqlx::query!(
        "SELECT data, expires_at FROM sessions WHERE session_hash = $1 AND expires_at > $2",
        session.0.as_slice(),
        now,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Stored {
        data: row.data,
        expires_at: row.expires_at,
    }))
}

/// Ends a session.
///
/// # Errors
/// [`StoreError`].
pub async fn delete(conn: &mut PgConnection, session: SessionHash) -> Result<(), StoreError> {
    sqlx::query!(
        "DELETE FROM sessions WHERE session_hash = $1",
        session.0.as_slice()
    )
    .execute(conn)
    .await?;
    Ok(())
}
