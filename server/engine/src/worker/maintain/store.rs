//! SQL of housekeeping.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StoreError;

pub(super) async fn ensure_payload_partition(
    conn: &mut PgConnection,
    month: NaiveDate,
) -> Result<(), StoreError> {
    sqlx::query!("SELECT ensure_payload_partition($1)", month)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn prune_rejected_deliveries(
    conn: &mut PgConnection,
    keep: i32,
) -> Result<u64, StoreError> {
    let gone = sqlx::query_scalar!("SELECT prune_rejected_deliveries($1)", keep)
        .fetch_one(conn)
        .await?;
    Ok(gone.and_then(|gone| u64::try_from(gone).ok()).unwrap_or(0))
}

pub(super) async fn sweep_sessions(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    Ok(
        sqlx::query!("DELETE FROM sessions WHERE expires_at <= $1", now)
            .execute(conn)
            .await?
            .rows_affected(),
    )
}

/// Failed sign-ins count for a day.
pub(super) async fn sweep_sign_in_failures(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let before = now - TimeDelta::days(1);
    Ok(
        sqlx::query!("DELETE FROM sign_in_failures WHERE failed_at <= $1", before)
            .execute(conn)
            .await?
            .rows_affected(),
    )
}
