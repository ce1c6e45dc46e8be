//! Tasks as they are read.

use chrono::{DateTime, Utc};
use domain::{
    id::TaskId,
    money::Amount,
    task::{Kind, Outcome, Promise, State},
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// A task, and how far it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Id.
    pub id: TaskId,
    /// What is done with each thing.
    pub kind: Kind,
    /// How the things were chosen.
    pub chosen: String,
    /// How far it has come.
    pub state: State,
    /// Why.
    pub reason: Option<String>,
    /// Who chose the things.
    pub made_by: String,
    /// When they were frozen.
    pub made_at: DateTime<Utc>,
    /// Who started it, and when.
    pub started: Option<(String, DateTime<Utc>)>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
    /// Things in it.
    pub things: i64,
    /// Those that were done.
    pub done: i64,
    /// Those that could not be done any more.
    pub refused: i64,
}

/// A page of tasks, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    cursor: Cursor<TaskId>,
) -> Result<Page<Task>, StoreError> {
    let (upwards, start) = cursor.start(TaskId(Uuid::max()));
    let rows = read(conn, None, (upwards, start)).await?;
    Ok(Page::read(rows, &cursor))
}

/// One task.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, id: TaskId) -> Result<Option<Task>, StoreError> {
    let mut rows = read(conn, Some(id), (false, TaskId(Uuid::max()))).await?;
    Ok(rows.pop())
}

async fn read(
    conn: &mut PgConnection,
    id: Option<TaskId>,
    (upwards, start): (bool, TaskId),
) -> Result<Vec<Task>, StoreError> {
    let rows = sqlx::query!(
        r#"WITH page AS (
               (SELECT * FROM tasks WHERE NOT $1::bool AND task_id < $2 AND ($3::uuid IS NULL OR task_id = $3)
                ORDER BY task_id DESC LIMIT $4)
               UNION ALL
               (SELECT * FROM tasks WHERE $1::bool AND task_id > $2 AND ($3::uuid IS NULL OR task_id = $3)
                ORDER BY task_id LIMIT $4))
           SELECT p.task_id AS "task_id!", p.kind AS "kind!", p.chosen AS "chosen!", p.state AS "state!", p.reason,
                  m.name AS made_by, p.made_at AS "made_at!", s.name AS "started_by?", p.started_at, p.ended_at,
                  i.things AS "things!", i.done AS "done!", i.refused AS "refused!"
           FROM page p JOIN operators m ON m.operator_id = p.made_by LEFT JOIN operators s ON s.operator_id = p.started_by
           CROSS JOIN LATERAL (
               SELECT count(*) AS things, count(*) FILTER (WHERE outcome = 'done') AS done,
                      count(*) FILTER (WHERE outcome = 'refused') AS refused
               FROM task_items i WHERE i.task_id = p.task_id) AS i
           ORDER BY CASE WHEN $1 THEN NULL ELSE p.task_id END DESC, p.task_id"#,
        upwards,
        start.0,
        id.map(|id| id.0),
        Page::<Task>::ASK,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Task {
                id: TaskId(row.task_id),
                kind: (row.kind.parse())
                    .map_err(|error| StoreError::inconsistent("tasks", "kind", error))?,
                chosen: row.chosen,
                state: (row.state.parse())
                    .map_err(|error| StoreError::inconsistent("tasks", "state", error))?,
                reason: row.reason,
                made_by: row.made_by,
                made_at: row.made_at,
                started: row.started_by.zip(row.started_at),
                ended_at: row.ended_at,
                things: row.things,
                done: row.done,
                refused: row.refused,
            })
        })
        .collect()
}

/// A thing of a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Order of doing.
    pub number: i32,
    /// Event or exception.
    pub subject: i64,
    /// What its rehearsal came to.
    pub promise: Promise,
    /// The same in a line.
    pub promised: String,
    /// What came of it.
    pub outcome: Option<Outcome>,
    /// Why it was refused.
    pub told: Option<String>,
}

/// The things of a task, in order.
///
/// # Errors
/// [`StoreError`].
pub async fn items(conn: &mut PgConnection, task: TaskId) -> Result<Vec<Item>, StoreError> {
    let rows = sqlx::query!(
        "SELECT number, subject, promise, promised, outcome, told FROM task_items WHERE task_id = $1 ORDER BY number",
        task.0,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let outcome = row.outcome.map(|word| word.parse()).transpose();
            Ok(Item {
                number: row.number,
                subject: row.subject,
                promise: (row.promise.parse())
                    .map_err(|error| StoreError::inconsistent("task_items", "promise", error))?,
                promised: row.promised,
                outcome: outcome
                    .map_err(|error| StoreError::inconsistent("task_items", "outcome", error))?,
                told: row.told,
            })
        })
        .collect()
}

/// What the things of a task would be charged, a currency each.
///
/// # Errors
/// [`StoreError`].
pub async fn sums(conn: &mut PgConnection, task: TaskId) -> Result<Vec<Amount>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT currency AS "currency!", sum(amount) AS "amount!" FROM task_items
           WHERE task_id = $1 AND currency IS NOT NULL GROUP BY 1 ORDER BY 1"#,
        task.0,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let currency = (row.currency.parse())
                .map_err(|error| StoreError::inconsistent("task_items", "currency", error))?;
            Amount::exact(row.amount, currency)
                .map_err(|error| StoreError::inconsistent("task_items", "amount", error))
        })
        .collect()
}
