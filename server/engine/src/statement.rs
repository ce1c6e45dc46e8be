//! Statements: what a provider says it did or billed, taken in whole or not at all, and held against our
//! usage.
//!
//! Invariants: a statement with any wrong line is stored as refused, with its errors and without a line;
//! the same file on the same terms is the same statement; of a source and period the newest accepted one
//! counts. A file is read once, a batch of lines at a time, in one transaction, so memory is flat however
//! long it is. What the two sides come to is decided by [`domain::statement`] and checked anew by every
//! reconciliation run, which opens an exception for each disagreement.
//!
//! Locks: the key's, the lines', then the audit log's.

pub(crate) mod check;
mod matches;
mod read;
mod store;
pub mod views;

use std::io::Read;

use domain::{
    canonical::Hash,
    id::{SourceId, StatementId},
    statement::{Period, Tolerance},
};
use serde_json::json;
use sqlx::{Acquire, PgConnection};
use tokio::sync::mpsc;

pub use self::{
    check::Tally,
    matches::{MOST_PARTS, MatchError, NewMatch},
    read::Problem,
};
use self::{
    read::{Numbered, Problems, Reading},
    views::Statement,
};
use crate::{
    Engine,
    audit::{self, By, Record},
    error::StoreError,
};

/// What is uploaded, apart from the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewStatement {
    /// Minted with the form or the command: sent twice, it is one statement.
    pub key: StatementId,
    /// Slug of the source.
    pub source: String,
    /// The mode the source is expected to have.
    pub livemode: bool,
    /// The days it speaks of.
    pub period: Period,
    /// By how much it may differ.
    pub tolerance: Tolerance,
    /// Name of the file, to be recognised by.
    pub file_name: String,
}

/// What came of an upload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Imported {
    /// The statement, accepted or refused.
    pub statement: Statement,
    /// Whether it was not known before.
    pub is_new: bool,
}

/// Why nothing was stored.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// No such source, or one of the other mode.
    #[error("there is no source {0:?} of this mode")]
    UnknownSource(String),
    /// The key belongs to another file.
    #[error("this form was sent before with another file; open it again")]
    KeyUsed,
    /// The file could not be read.
    #[error("the file could not be read")]
    File(#[from] std::io::Error),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ImportError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// Longest name of a file, in characters.
const LONGEST_NAME: usize = 200;

impl Engine {
    /// Takes a statement in and checks it. Sent twice, or by two keys, the first one is found.
    ///
    /// # Errors
    /// [`ImportError`]; a statement with wrong lines is no error but stored as refused.
    pub async fn import_statement(
        &self,
        new: &NewStatement,
        file: impl Read + Send + 'static,
        by: Option<By<'_>>,
    ) -> Result<Imported, ImportError> {
        let mut tx = self.pool().begin().await?;
        let source = source_of(&mut tx, new).await?;
        store::lock_key(&mut tx, new.key).await?;
        let (id, is_new) = if let Some(known) = store::hash_of(&mut tx, new.key).await? {
            if known != hash(file).await? {
                return Err(ImportError::KeyUsed);
            }
            tx.rollback().await?;
            (new.key, false)
        } else {
            let mut lines = tx.begin().await?;
            let reading = load(&mut lines, new.key, file).await?;
            match reading.problems.count {
                0 => lines.commit().await?,
                _ => lines.rollback().await?,
            }
            self.store(tx, (source, new), &reading, by).await?
        };
        let mut conn = self.connection().await?;
        let statement = find(&mut conn, id).await?;
        if !statement.accepted {
            return Ok(Imported { statement, is_new });
        }
        drop(conn);
        check::run(self, Some(source)).await?;
        let statement = find(&mut *self.connection().await?, id).await?;
        Ok(Imported { statement, is_new })
    }

    /// Stores what was read; the id is another than the key's when the file was known.
    async fn store(
        &self,
        mut tx: sqlx::Transaction<'_, sqlx::Postgres>,
        (source, new): (SourceId, &NewStatement),
        reading: &Reading,
        by: Option<By<'_>>,
    ) -> Result<(StatementId, bool), ImportError> {
        let name: String = new.file_name.chars().take(LONGEST_NAME).collect();
        let row = store::Row {
            source,
            new,
            file_name: if name.is_empty() { "-" } else { &name },
            reading,
            by: by.map(|by| by.operator),
            at: self.clock().now(),
        };
        if !store::insert(&mut tx, &row).await? {
            tx.rollback().await?;
            let mut conn = self.connection().await?;
            let same = store::same(&mut conn, &row).await?;
            return Ok((same, false));
        }
        store::insert_errors(&mut tx, new.key, &reading.problems.first).await?;
        let object = new.key.to_string();
        let detail = json!({
            "source": new.source, "period": new.period.to_string(), "file": row.file_name,
            "hash": reading.hash.to_string(), "accepted": reading.problems.count == 0,
            "lines": reading.lines.to_string(), "errors": reading.problems.count.to_string(),
        });
        let line = match by {
            Some(by) => by.did("statement.import", &object, detail, None),
            None => Record {
                operator: None,
                actor: "command line",
                request_id: None,
                action: "statement.import",
                object: &object,
                detail,
                reason: None,
            },
        };
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await?;
        Ok((new.key, true))
    }
}

async fn source_of(conn: &mut PgConnection, new: &NewStatement) -> Result<SourceId, ImportError> {
    match store::source(conn, &new.source).await? {
        Some((source, livemode)) if livemode == new.livemode => Ok(source),
        _ => Err(ImportError::UnknownSource(new.source.clone())),
    }
}

async fn find(conn: &mut PgConnection, id: StatementId) -> Result<Statement, ImportError> {
    let missing = || StoreError::inconsistent("statements", "statement_id", id.to_string());
    Ok(views::find(conn, id).await?.ok_or_else(missing)?)
}

/// Reads a file on a thread of its own and inserts its lines as they come.
async fn load(
    conn: &mut PgConnection,
    statement: StatementId,
    file: impl Read + Send + 'static,
) -> Result<Reading, ImportError> {
    let (send, mut batches) = mpsc::channel::<Vec<Numbered>>(2);
    let reader = tokio::task::spawn_blocking(move || {
        read::read(file, |batch| send.blocking_send(batch).is_ok())
    });
    let mut repeated = Problems::default();
    while let Some(batch) = batches.recv().await {
        insert(conn, statement, &batch, &mut repeated).await?;
    }
    let reading = reader.await.map_err(std::io::Error::other)??;
    Ok(Reading {
        problems: reading.problems.and(repeated),
        ..reading
    })
}

/// Inserts lines; those that are there already are problems.
async fn insert(
    conn: &mut PgConnection,
    statement: StatementId,
    batch: &[Numbered],
    repeated: &mut Problems,
) -> Result<(), StoreError> {
    let inserted = store::insert_lines(conn, statement, batch).await?;
    if inserted.len() == batch.len() {
        return Ok(());
    }
    for (at, line) in batch.iter().filter(|(at, _)| !inserted.contains(at)) {
        let is_kept = repeated.first.len() < read::MOST_PROBLEMS;
        let first = match is_kept {
            true => store::line_of(conn, statement, line.identity()).await?,
            false => None,
        };
        let what = match line.id {
            Some(_) => "the id",
            None => "the work, meter and time",
        };
        let first = first.map_or_else(
            || "another line".to_owned(),
            |first| format!("line {first}"),
        );
        repeated.push(Problem {
            line: *at,
            field: None,
            problem: format!(
                "it has {what} of {first}: leave one of them out, or give each its id"
            ),
        });
    }
    Ok(())
}

async fn hash(file: impl Read + Send + 'static) -> Result<Hash, ImportError> {
    let hash = tokio::task::spawn_blocking(move || read::hash(file)).await;
    Ok(hash.map_err(std::io::Error::other)??)
}
