//! Tasks: one decision about many things. The things are frozen when they are chosen, and each is rehearsed in
//! a transaction that is rolled back, so that whoever starts the task sees what it would do. Then a worker
//! does one after the other.
//!
//! Invariants: what is done with a thing and its outcome commit together, so a task that is killed goes on
//! where it was and does nothing twice. What cannot be done any more is refused with its reason, and the
//! others go on.
//!
//! Locks: a task or one of its things first, then those of what is done.

mod rehearsal;
mod store;
pub mod views;

use domain::{
    exception::Repair,
    id::{EventId, OperatorId, TaskId},
    task::{Kind, Outcome, State},
};
use serde_json::json;
use sqlx::Connection as _;

use crate::{
    Engine,
    audit::{self, By},
    case::{self, CaseError, Verdict},
    error::StoreError,
    exception::{self, ExceptionError},
};

/// Most things of a task.
pub const MOST: usize = 500;

/// A task to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct New {
    /// Minted with the form.
    pub id: TaskId,
    /// What is done with each thing.
    pub kind: Kind,
    /// Mode of the page.
    pub livemode: bool,
    /// How the things were chosen.
    pub chosen: String,
    /// Events of a replay, exceptions of a repair; at most [`MOST`].
    pub things: Vec<i64>,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No such task.
    #[error("there is no such task")]
    Unknown,
    /// There is nothing to do.
    #[error("nothing was chosen")]
    Empty,
    /// There is too much to do.
    #[error("a task takes at most {MOST} things: choose fewer")]
    TooMany,
    /// The reason is too short or too long.
    #[error("a task needs a reason of 10 to 500 characters")]
    NoReason,
    /// The form's key was used for something else.
    #[error("this form was sent before with other content; here is what it asked for then")]
    OtherForm,
    /// Real work holds what the rehearsal needs.
    #[error("work on some of these goes on just now; try it again")]
    InTheWay,
    /// It is further than that.
    #[error("the task is {0} already")]
    Further(State),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for TaskError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Engine {
    /// Freezes what was chosen and rehearses it. Sent twice under one id, it is the first task, and a filter
    /// that finds other things by then does not change it.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn make_task(&self, new: &New, by: By<'_>) -> Result<(), TaskError> {
        if new.things.is_empty() {
            return Err(TaskError::Empty);
        }
        if new.things.len() > MOST {
            return Err(TaskError::TooMany);
        }
        let rehearsed = match new.kind {
            Kind::Replay => rehearsal::replays(self, &new.things).await?,
            Kind::Repair => rehearsal::repairs(self, &new.things).await?,
        };
        let now = self.clock().now();
        let mut tx = self.pool().begin().await?;
        if store::insert(&mut tx, new, by.operator, now).await? {
            store::insert_items(&mut tx, new.id, &rehearsed).await?;
        } else if !store::is_known(&mut tx, new, by.operator).await? {
            return Err(TaskError::OtherForm);
        }
        tx.commit().await?;
        Ok(())
    }

    /// Starts a task, saying why. Started before, it stays so.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn start_task(&self, id: TaskId, reason: &str, by: By<'_>) -> Result<(), TaskError> {
        let reason = domain::action::reason(reason).ok_or(TaskError::NoReason)?;
        let mut tx = self.pool().begin().await?;
        let task = store::lock(&mut tx, id).await?.ok_or(TaskError::Unknown)?;
        if !task.state.may_become(State::Running) {
            return Err(TaskError::Further(task.state));
        }
        store::start(&mut tx, id, reason, by.operator, self.clock().now()).await?;
        let object = id.to_string();
        let detail = json!({ "kind": task.kind, "chosen": task.chosen });
        let line = by.did("task.start", &object, detail, Some(reason));
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Stops a task; what was done stays done.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn cancel_task(&self, id: TaskId, by: By<'_>) -> Result<(), TaskError> {
        let mut tx = self.pool().begin().await?;
        let task = store::lock(&mut tx, id).await?.ok_or(TaskError::Unknown)?;
        if !task.state.may_become(State::Cancelled) {
            return Err(TaskError::Further(task.state));
        }
        store::end(&mut tx, id, State::Cancelled, self.clock().now()).await?;
        let object = id.to_string();
        let line = by.did("task.cancel", &object, json!({}), None);
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Does the next thing of a running task; says whether there was one.
    ///
    /// # Errors
    /// [`StoreError`]; the thing is still to be done.
    pub async fn work_on_tasks(&self) -> Result<bool, StoreError> {
        let mut tx = self.pool().begin().await?;
        let now = self.clock().now();
        let Some(item) = store::claim(&mut tx).await? else {
            store::end_finished(&mut tx, now).await?;
            tx.commit().await?;
            return Ok(false);
        };
        let mut part = tx.begin().await?;
        let refused = match self.do_one(&mut part, &item).await? {
            None => {
                part.commit().await?;
                None
            }
            Some(why) => {
                part.rollback().await?;
                Some(why)
            }
        };
        let outcome = match refused {
            None => Outcome::Done,
            Some(_) => Outcome::Refused,
        };
        store::tell(&mut tx, &item, outcome, refused.as_deref(), now).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Does one thing; says why not, if it cannot be done.
    async fn do_one(
        &self,
        conn: &mut sqlx::PgConnection,
        item: &Item,
    ) -> Result<Option<String>, StoreError> {
        let by = By {
            operator: item.by,
            email: &item.email,
            request_id: None,
        };
        let done = match item.kind {
            Kind::Replay => {
                let event = EventId(item.subject);
                match case::decide(conn, self, event, Verdict::Replay, &item.reason, by).await {
                    Err(CaseError::Store(error)) => Err(error),
                    done => Ok(done.err().map(|error| error.to_string())),
                }
            }
            Kind::Repair => {
                // The task's id is the key of each exception's form.
                let how = (item.task.0, by);
                match exception::repair(conn, self, item.subject, &item.reason, how).await {
                    Err(ExceptionError::Store(error)) => Err(error),
                    done => Ok(done.err().map(|error| error.to_string())),
                }
            }
        };
        match done {
            // The database refuses this thing, and would again.
            Err(error) if error.is_refusal() => Ok(Some(error.innermost().to_string())),
            done => done,
        }
    }
}

/// A thing to be done, under lock.
struct Item {
    task: TaskId,
    number: i32,
    subject: i64,
    kind: Kind,
    reason: String,
    by: OperatorId,
    email: String,
}

/// What a repair does, in words.
const fn repair_words(repair: Repair) -> &'static str {
    match repair {
        Repair::RebuildBalance => "the balance is written anew from its transfers",
        Repair::RebuildLot => "what remains of the lot is written anew from its draws",
        Repair::Redrive => "the event is looked at again",
    }
}
