//! From which amount on an action waits for a second person.

use domain::{action::Kind, money::Amount};
use sqlx::PgConnection;

use super::store;
use crate::{Engine, error::StoreError};

/// Sets from which amount on an action waits for a second person. Returns the new version; `None` when that
/// amount was in force already, so that a form sent twice is one version.
///
/// # Errors
/// [`StoreError`].
pub async fn set_threshold(
    conn: &mut PgConnection,
    engine: &Engine,
    kind: Kind,
    above: Amount,
    by: &str,
) -> Result<Option<i32>, StoreError> {
    let subject = (kind, above.currency());
    if store::threshold(conn, kind, above.currency()).await? == Some(above.value()) {
        return Ok(None);
    }
    let now = engine.clock().now();
    let version = store::insert_threshold(conn, subject, above.value(), by, now).await?;
    Ok(Some(version))
}
