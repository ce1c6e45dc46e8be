//! Saved views: what an operator calls the filters of a list. Nothing is decided by them.
//!
//! Invariant: one name means one view to its owner (`saved_views_once`); only its owner drops it.

mod store;
pub mod views;

use domain::{id::OperatorId, saved_view::SavedView};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{Engine, error::StoreError};

/// Why a view was not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The operator has a view of this name on this list.
    #[error("you have a view of this name here; choose another name or delete that one first")]
    NameTaken,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Saves a view for an operator, or for everybody.
///
/// # Errors
/// [`SaveError`].
pub async fn save(
    conn: &mut PgConnection,
    engine: &Engine,
    view: &SavedView,
    (owner, shared): (OperatorId, bool),
) -> Result<Uuid, SaveError> {
    let id = engine.mint();
    let at = engine.clock().now();
    store::insert(conn, id, view, (owner, shared), at).await?;
    Ok(id)
}

/// Drops a view of the operator's own. Returns false when they have no such view.
///
/// # Errors
/// [`StoreError`].
pub async fn drop(
    conn: &mut PgConnection,
    id: Uuid,
    owner: OperatorId,
) -> Result<bool, StoreError> {
    store::delete(conn, id, owner).await
}
