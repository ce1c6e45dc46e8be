//! The audit log: who did what to which object, when and why.

mod store;

use domain::id::OperatorId;
use sqlx::PgConnection;

use crate::{Engine, error::StoreError};

/// One line of the log.
#[derive(Clone, PartialEq, Debug)]
pub struct Record<'a> {
    /// Who; `None` for the command line and the system.
    pub operator: Option<OperatorId>,
    /// Who, in words that outlive the account.
    pub actor: &'a str,
    /// The request it was done in.
    pub request_id: Option<&'a str>,
    /// What, as `noun.verb`.
    pub action: &'a str,
    /// To which object.
    pub object: &'a str,
    /// Whatever explains it.
    pub detail: serde_json::Value,
    /// Why, in the operator's words.
    pub reason: Option<&'a str>,
}

/// Writes a line, in the transaction of what it speaks of.
///
/// # Errors
/// [`StoreError`].
pub async fn record(
    conn: &mut PgConnection,
    engine: &Engine,
    record: &Record<'_>,
) -> Result<(), StoreError> {
    store::insert(conn, record, engine.clock().now()).await
}
