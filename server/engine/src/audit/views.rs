//! The audit log as it is read: page by page, and whole when its chain is checked.

use chrono::{DateTime, Utc};
use domain::{
    audit::{GENESIS, Line},
    canonical::Hash,
    id::OperatorId,
};
use futures::TryStreamExt;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// The newest line of a chain. Noted elsewhere, it shows later whether the log was cut short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Its number; 0 while the log is empty.
    pub number: i64,
    /// Its hash.
    pub hash: Hash,
}

impl Head {
    /// Before the first line.
    pub const GENESIS: Self = Self {
        number: 0,
        hash: GENESIS,
    };
}

/// Where a chain breaks first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Break {
    /// The line.
    pub number: i64,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It is not the one after the line before it: lines were taken out or put in.
    Place,
    /// It does not have the hash it was written with: it was changed.
    Content,
}

impl std::fmt::Display for Break {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let fault = match self.fault {
            Fault::Place => "does not follow the line before it: lines were taken out or put in",
            Fault::Content => "does not have the hash it was written with: it was changed",
        };
        write!(f, "line {} {fault}", self.number)
    }
}

/// One line.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its number.
    pub number: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who, if an operator.
    pub operator: Option<OperatorId>,
    /// Who, in words.
    pub actor: String,
    /// The request it was done in.
    pub request_id: Option<String>,
    /// What, as `noun.verb`.
    pub action: String,
    /// To which object.
    pub object: String,
    /// Whatever explains it.
    pub detail: serde_json::Value,
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// Hash of the line before.
    pub previous_hash: Hash,
    /// Its hash.
    pub hash: Hash,
}

/// Which lines are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Who, exactly.
    pub actor: Option<String>,
    /// What: `noun.verb`, or a noun for all its verbs.
    pub action: Option<String>,
    /// To which object.
    pub object: Option<String>,
    /// From this instant on.
    pub since: Option<DateTime<Utc>>,
}

#[derive(sqlx::FromRow)]
struct Stored {
    audit_id: i64,
    at: DateTime<Utc>,
    operator_id: Option<Uuid>,
    actor: String,
    request_id: Option<String>,
    action: String,
    object: String,
    detail: serde_json::Value,
    reason: Option<String>,
    previous_hash: Vec<u8>,
    hash: Vec<u8>,
}

impl TryFrom<Stored> for Entry {
    type Error = StoreError;

    fn try_from(row: Stored) -> Result<Self, StoreError> {
        Ok(Self {
            number: row.audit_id,
            at: row.at,
            operator: row.operator_id.map(OperatorId),
            actor: row.actor,
            request_id: row.request_id,
            action: row.action,
            object: row.object,
            detail: row.detail,
            reason: row.reason,
            previous_hash: hash(row.previous_hash)?,
            hash: hash(row.hash)?,
        })
    }
}

impl Entry {
    /// What is wrong with this line after `head`, if anything.
    fn fault(&self, head: Head) -> Option<Fault> {
        if self.number != head.number + 1 || self.previous_hash != head.hash {
            return Some(Fault::Place);
        }
        let line = Line {
            number: self.number,
            at: self.at,
            operator: self.operator,
            actor: &self.actor,
            request_id: self.request_id.as_deref(),
            action: &self.action,
            object: &self.object,
            detail: &self.detail,
            reason: self.reason.as_deref(),
        };
        (line.hash(head.hash) != Ok(self.hash)).then_some(Fault::Content)
    }
}

pub(super) fn hash(bytes: Vec<u8>) -> Result<Hash, StoreError> {
    Hash::try_from(bytes)
        .map_err(|_| StoreError::inconsistent("audit_log", "hash", "a hash has 32 bytes"))
}

/// A page of lines, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Entry>, StoreError> {
    let mut query = QueryBuilder::<Postgres>::new("SELECT * FROM audit_log WHERE true");
    if let Some(actor) = &filter.actor {
        query.push(" AND actor = ").push_bind(actor.clone());
    }
    if let Some(action) = &filter.action {
        let (whole, noun) = (action.clone(), format!("{action}."));
        query.push(" AND (action = ").push_bind(whole);
        query
            .push(" OR starts_with(action, ")
            .push_bind(noun)
            .push("))");
    }
    if let Some(object) = &filter.object {
        query.push(" AND object = ").push_bind(object.clone());
    }
    if let Some(since) = filter.since {
        query.push(" AND at >= ").push_bind(since);
    }
    cursor.end(&mut query, "audit_id");
    let stored: Vec<Stored> = query.build_query_as().fetch_all(conn).await?;
    let rows = stored
        .into_iter()
        .map(Entry::try_from)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Page::read(rows, &cursor))
}

/// Follows the chain from its first line, one line in memory at a time. `Err` of the inner result is
/// where it breaks first; what comes after a break proves nothing.
///
/// # Errors
/// [`StoreError`].
pub async fn follow(conn: &mut PgConnection) -> Result<Result<Head, Break>, StoreError> {
    follow_from(conn, Head::GENESIS).await
}

/// [`follow`], from a line on that was the newest once; it must still be there as it was.
///
/// # Errors
/// [`StoreError`].
pub(crate) async fn follow_from(
    conn: &mut PgConnection,
    from: Head,
) -> Result<Result<Head, Break>, StoreError> {
    let mut head = from;
    let mut lines = sqlx::query_as!(
        Stored,
        "SELECT audit_id, at, operator_id, actor, request_id, action, object, detail, reason, previous_hash, hash
         FROM audit_log WHERE audit_id >= $1 ORDER BY audit_id",
        from.number,
    )
    .fetch(conn);
    let mut met = from == Head::GENESIS;
    while let Some(line) = lines.try_next().await? {
        let line = Entry::try_from(line)?;
        let number = line.number;
        let here = Head {
            number,
            hash: line.hash,
        };
        let fault = if met {
            line.fault(head)
        } else {
            // The line to begin after is still there, as it was.
            (here != from).then_some(Fault::Place)
        };
        if let Some(fault) = fault {
            return Ok(Err(Break { number, fault }));
        }
        (head, met) = (here, true);
    }
    if !met {
        let (number, fault) = (from.number, Fault::Place);
        return Ok(Err(Break { number, fault }));
    }
    Ok(Ok(head))
}
