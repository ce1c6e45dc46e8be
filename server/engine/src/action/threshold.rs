//! From which amount on an action waits for a second person.

use domain::{action::Kind, money::Amount};
use sqlx::PgConnection;

use super::store;
use crate::{Engine, error::StoreError};

/// Sets from which amount on an action waits for a second person. Returns the version in force.
///
/// # Errors
/// [`StoreError`].
pub async fn set_threshold(
    conn: &mut PgConnection,
    engine: &Engine,
    kind: Kind,
    above: Amount,
    by: &str,
) -> Result<i32, StoreError> {
    let subject = (kind, above.currency());
    store::insert_threshold(conn, subject, above.value(), by, engine.clock().now()).await
}
