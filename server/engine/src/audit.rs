//! The audit log: who did what to which object, when and why.
//!
//! Lines form a chain of hashes ([`domain::audit`]). Writing one takes the log's lock until the
//! transaction ends, so it comes last in a transaction, after every other lock.

mod store;
pub mod views;

use chrono::SubsecRound;
use domain::{audit::Line, id::OperatorId};
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

/// Who acts, and in which request.
#[derive(Clone, Copy, Debug)]
pub struct By<'a> {
    /// The operator.
    pub operator: OperatorId,
    /// Their sign-in name.
    pub email: &'a str,
    /// The request.
    pub request_id: Option<&'a str>,
}

impl<'a> By<'a> {
    /// The line that says what they did.
    pub fn did(
        self,
        action: &'a str,
        object: &'a str,
        detail: serde_json::Value,
        reason: Option<&'a str>,
    ) -> Record<'a> {
        Record {
            operator: Some(self.operator),
            actor: self.email,
            request_id: self.request_id,
            action,
            object,
            detail,
            reason,
        }
    }
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
    let head = store::lock_head(conn).await?;
    let line = Line {
        number: head.number + 1,
        // As the database keeps it.
        at: engine.clock().now().trunc_subsecs(6),
        operator: record.operator,
        actor: record.actor,
        request_id: record.request_id,
        action: record.action,
        object: record.object,
        detail: &record.detail,
        reason: record.reason,
    };
    let hash = line
        .hash(head.hash)
        .map_err(|error| StoreError::inconsistent("audit_log", "detail", error))?;
    store::insert(conn, &line, head.hash, hash).await
}

impl Engine {
    /// Writes a line about what needs no other change: a sign-in, a payload that was read.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn record_audit(&self, line: &Record<'_>) -> Result<(), StoreError> {
        let mut tx = self.pool().begin().await?;
        record(&mut tx, self, line).await?;
        Ok(tx.commit().await?)
    }
}
