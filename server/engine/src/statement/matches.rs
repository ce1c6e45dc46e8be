//! Matches: a person says that groups which the two sides name differently are one.
//!
//! Nothing of what either side said changes. From then on every check decides the match as one group, under
//! the statement's tolerance, so the exceptions of its parts close and one of what remains opens if that is
//! too much. It holds for the source and period, and so for the statement that corrects this one, until
//! somebody takes it back.
//!
//! Locks: the statement's key, under which checks write too, the period's, then the audit log's.

use std::collections::BTreeSet;

use domain::{
    id::{MatchId, SourceId, StatementId},
    statement::Side,
    usage::Meter,
};
use serde_json::json;

use super::{check, store};
use crate::{
    Engine,
    audit::{self, By},
    error::StoreError,
};

/// Most groups of a match.
pub const MOST_PARTS: usize = 200;

/// What is said to be one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewMatch {
    /// Minted with the form: sent twice, it is one match.
    pub key: MatchId,
    /// The statement whose groups these are.
    pub statement: StatementId,
    /// What was counted.
    pub meter: Meter,
    /// References of groups that only one side has.
    pub parts: BTreeSet<String>,
    /// Why they belong together.
    pub reason: String,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// No such statement or match.
    #[error("there is no such statement or match")]
    Unknown,
    /// The reason is too short or too long.
    #[error("a match, and taking it back, needs a reason of 10 to 500 characters")]
    NoReason,
    /// Nothing of one side was chosen.
    #[error("choose something of both sides")]
    OneSided,
    /// Too much was chosen.
    #[error("a match takes at most {MOST_PARTS} groups: choose fewer")]
    TooMany,
    /// What was chosen is not what it was.
    #[error("some of what was chosen is not missing any more, or is in another match")]
    Changed,
    /// Another statement counts.
    #[error("a newer statement of the period counts; match there")]
    Superseded,
    /// The form's key was used for something else.
    #[error("this form was sent before with other content, which stands")]
    OtherForm,
    /// Somebody took it back before.
    #[error("it was taken back before")]
    Undone,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for MatchError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Engine {
    /// Matches groups of a statement, and checks it anew. Sent twice under one key, it is one match.
    ///
    /// # Errors
    /// [`MatchError`].
    pub async fn match_groups(&self, new: &NewMatch, by: By<'_>) -> Result<(), MatchError> {
        let reason = domain::action::reason(&new.reason).ok_or(MatchError::NoReason)?;
        if new.parts.len() > MOST_PARTS {
            return Err(MatchError::TooMany);
        }
        let mut tx = self.pool().begin().await?;
        // What a check finds stands still until this has committed.
        store::lock_key(&mut tx, new.statement).await?;
        let row = store::Match {
            new,
            reason,
            by: by.operator,
            at: self.clock().now(),
        };
        let source = store::counts(&mut tx, new.statement).await?;
        let (source, is_newest) = source.ok_or(MatchError::Unknown)?;
        if !store::insert_match(&mut tx, &row).await? {
            return match store::is_known(&mut tx, &row).await? {
                true => Ok(()),
                false => Err(MatchError::OtherForm),
            };
        }
        if !is_newest {
            return Err(MatchError::Superseded);
        }
        let parts = store::lone(&mut tx, new).await?;
        if parts.len() != new.parts.len() {
            return Err(MatchError::Changed);
        }
        if !(Side::ALL.iter()).all(|side| parts.iter().any(|(_, found)| found == side)) {
            return Err(MatchError::OneSided);
        }
        if !store::insert_parts(&mut tx, new, &parts).await? {
            return Err(MatchError::Changed);
        }
        let object = new.key.to_string();
        let detail = json!({
            "statement": new.statement.to_string(), "meter": new.meter.as_str(), "parts": new.parts,
        });
        let line = by.did("statement.match", &object, detail, Some(reason));
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await?;
        self.check_anew(source).await
    }

    /// Takes a match back, and checks the statement anew. Taken back twice in the same words, it is once.
    ///
    /// # Errors
    /// [`MatchError`].
    pub async fn undo_match(
        &self,
        id: MatchId,
        reason: &str,
        by: By<'_>,
    ) -> Result<(), MatchError> {
        let reason = domain::action::reason(reason).ok_or(MatchError::NoReason)?;
        let mut tx = self.pool().begin().await?;
        let source = store::source_of_match(&mut tx, id).await?;
        let source = source.ok_or(MatchError::Unknown)?;
        let now = self.clock().now();
        if !store::insert_undo(&mut tx, (id, reason), by.operator, now).await? {
            return match store::is_undone(&mut tx, (id, reason), by.operator).await? {
                true => Ok(()),
                false => Err(MatchError::Undone),
            };
        }
        let object = id.to_string();
        let line = by.did("statement.unmatch", &object, json!({}), Some(reason));
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await?;
        self.check_anew(source).await
    }

    async fn check_anew(&self, source: SourceId) -> Result<(), MatchError> {
        check::run(self, Some(source)).await?;
        Ok(())
    }
}
