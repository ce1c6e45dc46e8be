//! Saved views in and out.

use chrono::{DateTime, Utc};
use domain::{id::OperatorId, saved_view::SavedView};
use sqlx::PgConnection;
use uuid::Uuid;

use super::SaveError;
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    id: Uuid,
    view: &SavedView,
    (owner, shared): (OperatorId, bool),
    at: DateTime<Utc>,
) -> Result<(), SaveError> {
    let done = sqlx::query!(
        "INSERT INTO saved_views (view_id, operator_id, list, name, filters, shared, saved_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        id,
        owner.0,
        view.list().as_str(),
        view.name(),
        view.filters(),
        shared,
        at,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match done {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("saved_views_once") => Err(SaveError::NameTaken),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn delete(
    conn: &mut PgConnection,
    id: Uuid,
    owner: OperatorId,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "DELETE FROM saved_views WHERE view_id = $1 AND operator_id = $2",
        id,
        owner.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() == 1)
}
