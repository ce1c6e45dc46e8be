//! Exceptions: who looks after one, what was seen, and what can be put right from here.
//!
//! Nothing here changes history, and nothing here closes an exception: the next run does, when it finds
//! the thing right. Each form carries a key, so sending it twice does it once.
//!
//! Locks: the exception's row, then that of what is repaired, then the audit log's.

mod store;
pub mod views;

use std::{collections::BTreeSet, str::FromStr};

use chrono::{DateTime, Utc};
use domain::{
    exception::{Class, Repair, What},
    id::OperatorId,
};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    Engine,
    audit::{self, By},
    error::StoreError,
};

/// What a person does about exceptions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// Takes them.
    Take,
    /// Gives them back.
    GiveBack,
    /// Asks not to be shown them before an instant.
    Snooze(DateTime<Utc>),
    /// Writes down what was seen.
    Note(&'a str),
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum ExceptionError {
    /// No such exception.
    #[error("there is no such exception")]
    Unknown,
    /// It is right already.
    #[error("it is closed: the last run found it right")]
    Closed,
    /// The text is missing or too long.
    #[error("say it in 1 to 500 characters")]
    NoText,
    /// The date is not ahead.
    #[error("choose a day after today")]
    NotAhead,
    /// Nothing of this class is put right from here.
    #[error("this cannot be put right from here; see what to do below")]
    NoRepair,
    /// The form's key was used for something else.
    #[error("this form was sent before with other content, which stands")]
    OtherForm,
    /// The difference is one within our own books.
    #[error("this cannot be accepted: our own books have to add up")]
    NotAcceptable,
    /// What is to be repaired is gone or has an outcome.
    #[error("what is to be repaired is not there any more: run the reconciliation again")]
    Gone,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Longest note, in characters.
const LONGEST: usize = 500;

/// Takes a step about some exceptions, all or none. Sent twice under one key, it is taken once.
///
/// # Errors
/// [`ExceptionError`].
pub async fn act(
    conn: &mut PgConnection,
    engine: &Engine,
    ids: &[i64],
    step: Step<'_>,
    (key, by): (Uuid, By<'_>),
) -> Result<(), ExceptionError> {
    let now = engine.clock().now();
    let (what, text) = match step {
        Step::Take => (What::Assigned, None),
        Step::GiveBack => (What::Unassigned, None),
        Step::Snooze(until) if until <= now => return Err(ExceptionError::NotAhead),
        Step::Snooze(until) => (What::Snoozed, Some(format!("until {until}"))),
        Step::Note(text) => (What::Noted, Some(checked(text)?.to_owned())),
    };
    // In the order a run locks them in, whatever order the form lists them in.
    let ids: BTreeSet<i64> = ids.iter().copied().collect();
    for id in ids {
        let locked = store::lock(conn, id)
            .await?
            .ok_or(ExceptionError::Unknown)?;
        if !locked.is_open && !matches!(step, Step::Note(_)) {
            return Err(ExceptionError::Closed);
        }
        let note = store::Note {
            exception: id,
            what,
            by: by.operator,
            key,
            text: text.as_deref(),
            at: now,
        };
        if !is_first(conn, &note).await? {
            continue;
        }
        match step {
            Step::Take => store::set_owner(conn, id, Some(by.operator)).await?,
            Step::GiveBack => store::set_owner(conn, id, None::<OperatorId>).await?,
            Step::Snooze(until) => store::snooze(conn, id, until).await?,
            Step::Note(_) => {}
        }
    }
    Ok(())
}

impl store::Locked {
    /// The id of what the exception is about.
    fn named<T: FromStr>(&self) -> Result<T, ExceptionError> {
        self.subject.parse().map_err(|_| ExceptionError::Gone)
    }
}

/// Writes what a form asks for; says whether it was not sent before. A key means one thing for ever.
async fn is_first(conn: &mut PgConnection, note: &store::Note<'_>) -> Result<bool, ExceptionError> {
    if store::insert_note(conn, note).await? {
        return Ok(true);
    }
    match store::is_known(conn, note).await? {
        true => Ok(false),
        false => Err(ExceptionError::OtherForm),
    }
}

fn checked(text: &str) -> Result<&str, ExceptionError> {
    let text = text.trim();
    if (1..=LONGEST).contains(&text.chars().count()) {
        Ok(text)
    } else {
        Err(ExceptionError::NoText)
    }
}

/// Puts right what an exception is about, saying why. Repeating it finds it done.
///
/// # Errors
/// [`ExceptionError`]; the transaction must be rolled back.
pub async fn repair(
    conn: &mut PgConnection,
    engine: &Engine,
    id: i64,
    reason: &str,
    (key, by): (Uuid, By<'_>),
) -> Result<(), ExceptionError> {
    let reason = checked(reason)?;
    let now = engine.clock().now();
    let locked = store::lock(conn, id)
        .await?
        .ok_or(ExceptionError::Unknown)?;
    let class: Class = locked.class;
    let repair = class.repair().ok_or(ExceptionError::NoRepair)?;
    let note = store::Note {
        exception: id,
        what: What::Repaired,
        by: by.operator,
        key,
        text: Some(reason),
        at: now,
    };
    if !locked.is_open {
        return Err(ExceptionError::Closed);
    }
    if !is_first(conn, &note).await? {
        return Ok(());
    }
    let changed = match repair {
        Repair::RebuildBalance => store::rebuild_balance(conn, locked.named()?, now).await?,
        Repair::RebuildLot => store::rebuild_lot(conn, locked.named()?).await?,
        Repair::Redrive => store::redrive(conn, locked.named()?, now).await?,
    };
    let (before, after) = changed.ok_or(ExceptionError::Gone)?;
    let object = format!("exc_{id}");
    let detail = json!({
        "repair": repair, "subject": locked.subject, "before": before, "after": after,
    });
    let line = by.did("exception.repair", &object, detail, Some(reason));
    Ok(audit::record(conn, engine, &line).await?)
}

/// Accepts the difference that an exception tells of, saying why. Runs do not find it again while both
/// numbers are what they are now.
///
/// # Errors
/// [`ExceptionError`]; the transaction must be rolled back.
pub async fn accept(
    conn: &mut PgConnection,
    engine: &Engine,
    id: i64,
    reason: &str,
    (key, by): (Uuid, By<'_>),
) -> Result<(), ExceptionError> {
    let reason = checked(reason)?;
    let now = engine.clock().now();
    let locked = store::lock(conn, id)
        .await?
        .ok_or(ExceptionError::Unknown)?;
    if !locked.class.may_be_accepted() {
        return Err(ExceptionError::NotAcceptable);
    }
    let note = store::Note {
        exception: id,
        what: What::Accepted,
        by: by.operator,
        key,
        text: Some(reason),
        at: now,
    };
    if !locked.is_open {
        return Err(ExceptionError::Closed);
    }
    if !is_first(conn, &note).await? {
        return Ok(());
    }
    store::insert_acceptance(conn, id, by.operator, now).await?;
    let object = format!("exc_{id}");
    let detail = json!({ "subject": locked.subject });
    let line = by.did("exception.accept", &object, detail, Some(reason));
    Ok(audit::record(conn, engine, &line).await?)
}

impl Engine {
    /// Accepts a difference in a transaction of its own.
    ///
    /// # Errors
    /// [`ExceptionError`].
    pub async fn accept_exception(
        &self,
        id: i64,
        reason: &str,
        how: (Uuid, By<'_>),
    ) -> Result<(), ExceptionError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        accept(&mut tx, self, id, reason, how).await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Takes a step about exceptions in a transaction of its own.
    ///
    /// # Errors
    /// [`ExceptionError`].
    pub async fn act_on_exceptions(
        &self,
        ids: &[i64],
        step: Step<'_>,
        how: (Uuid, By<'_>),
    ) -> Result<(), ExceptionError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        act(&mut tx, self, ids, step, how).await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Repairs in a transaction of its own.
    ///
    /// # Errors
    /// [`ExceptionError`].
    pub async fn repair_exception(
        &self,
        id: i64,
        reason: &str,
        how: (Uuid, By<'_>),
    ) -> Result<(), ExceptionError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        repair(&mut tx, self, id, reason, how).await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }
}
