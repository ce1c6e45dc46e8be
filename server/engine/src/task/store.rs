//! Changes of tasks, and what a rehearsal reads.

use chrono::{DateTime, Utc};
use domain::{
    event::EventState,
    id::{EventId, OperatorId, TaskId},
    money::Amount,
    task::{Kind, Outcome, State},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::{Item, New, rehearsal::Rehearsed};
use crate::error::StoreError;

/// Waits for nobody longer than a moment.
pub(super) async fn give_way(conn: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::raw_sql("SET LOCAL lock_timeout = '2s'")
        .execute(conn)
        .await?;
    Ok(())
}

/// An event before its rehearsal.
pub(super) struct Case {
    pub(super) event: EventId,
    pub(super) state: EventState,
    pub(super) reason: Option<String>,
}

fn state(word: &str) -> Result<EventState, StoreError> {
    word.parse()
        .map_err(|error| StoreError::inconsistent("events", "state", error))
}

pub(super) async fn cases(
    conn: &mut PgConnection,
    events: &[i64],
) -> Result<Vec<Case>, StoreError> {
    let rows = sqlx::query!(
        "SELECT event_id, state, reason FROM events WHERE event_id = ANY ($1) ORDER BY event_id FOR UPDATE",
        events,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Case {
                event: EventId(row.event_id),
                state: state(&row.state)?,
                reason: row.reason,
            })
        })
        .collect()
}

pub(super) async fn make_due(
    conn: &mut PgConnection,
    events: &[EventId],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let events: Vec<_> = events.iter().map(|event| event.0).collect();
    sqlx::query!(
        "UPDATE events SET state = 'received', reason = NULL, attempts = 0, due_at = $2, decided_at = NULL
         WHERE event_id = ANY ($1)",
        &events,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An event after its rehearsal.
pub(super) struct After {
    pub(super) event: EventId,
    pub(super) state: EventState,
    pub(super) reason: Option<String>,
    /// What this transaction has posted for it.
    pub(super) entries: Option<String>,
    /// What its job is charged more.
    pub(super) charged: Option<Amount>,
}

/// What became of events in this transaction.
pub(super) async fn after(
    conn: &mut PgConnection,
    events: &[EventId],
) -> Result<Vec<After>, StoreError> {
    let events: Vec<_> = events.iter().map(|event| event.0).collect();
    let rows = sqlx::query!(
        r#"SELECT e.event_id, e.state, e.reason, p.entries, p.charged, p.currency
           FROM events e LEFT JOIN LATERAL (
               SELECT string_agg(t.entry_type || ' ' || trim_scale(t.amount) || ' ' || t.currency, ', ' ORDER BY t.posting_id) AS entries,
                      sum(CASE WHEN 'revenue' = c.kind THEN t.amount WHEN 'revenue' = d.kind THEN -t.amount ELSE 0 END) AS charged,
                      min(t.currency) AS currency
               FROM settlements s JOIN transfers t USING (tenant_id, settlement_id)
               JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
               JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
               WHERE s.event_id = e.event_id AND s.tenant_id = e.tenant_id AND s.subject_kind = 'job' AND s.subject_id = e.job_id
                 AND s.written_in = pg_current_xact_id()::text::bigint) AS p ON true
           WHERE e.event_id = ANY ($1) ORDER BY e.event_id"#,
        &events,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let charged =
                match (row.charged, row.currency) {
                    (Some(value), Some(code)) => {
                        let currency = code.parse().map_err(|error| {
                            StoreError::inconsistent("transfers", "currency", error)
                        })?;
                        Some(Amount::exact(value, currency).map_err(|error| {
                            StoreError::inconsistent("transfers", "amount", error)
                        })?)
                    }
                    _ => None,
                };
            Ok(After {
                event: EventId(row.event_id),
                state: state(&row.state)?,
                reason: row.reason,
                entries: row.entries,
                charged,
            })
        })
        .collect()
}

/// Writes a task; says whether its form was not sent before.
pub(super) async fn insert(
    conn: &mut PgConnection,
    new: &New,
    by: OperatorId,
    now: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO tasks (task_id, kind, livemode, chosen, state, made_by, made_at)
         VALUES ($1, $2, $3, $4, 'draft', $5, $6) ON CONFLICT ON CONSTRAINT tasks_pkey DO NOTHING",
        new.id.0,
        new.kind.as_str(),
        new.livemode,
        new.chosen,
        by.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether what the task's id stands for was asked for in just this way.
pub(super) async fn is_known(
    conn: &mut PgConnection,
    new: &New,
    by: OperatorId,
) -> Result<bool, StoreError> {
    let known = sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM tasks WHERE task_id = $1 AND kind = $2 AND livemode = $3 AND chosen = $4 AND made_by = $5
           ) AS "known!""#,
        new.id.0,
        new.kind.as_str(),
        new.livemode,
        new.chosen,
        by.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(known)
}

pub(super) async fn insert_items(
    conn: &mut PgConnection,
    task: TaskId,
    items: &[Rehearsed],
) -> Result<(), StoreError> {
    let subjects: Vec<_> = items.iter().map(|item| item.subject).collect();
    let promises: Vec<_> = items.iter().map(|item| item.promise.as_str()).collect();
    let told: Vec<_> = items.iter().map(|item| item.told.as_str()).collect();
    let amounts: Vec<_> = items
        .iter()
        .map(|item| item.amount.map(|amount| amount.value()))
        .collect();
    let currencies: Vec<_> = items
        .iter()
        .map(|item| item.amount.map(|amount| amount.currency().code()))
        .collect();
    sqlx::query!(
        "INSERT INTO task_items (task_id, number, subject, promise, promised, amount, currency)
         SELECT $1, number, subject, promise, promised, amount, currency
         FROM unnest($2::bigint[], $3::text[], $4::text[], $5::numeric[], $6::text[]) WITH ORDINALITY
             AS item (subject, promise, promised, amount, currency, number)
         ON CONFLICT ON CONSTRAINT task_items_once DO NOTHING",
        task.0,
        &subjects,
        &promises as &[&str],
        &told as &[&str],
        &amounts as &[Option<Decimal>],
        &currencies as &[Option<&str>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A task under lock.
pub(super) struct Locked {
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) chosen: String,
}

pub(super) async fn lock(
    conn: &mut PgConnection,
    task: TaskId,
) -> Result<Option<Locked>, StoreError> {
    let row = sqlx::query!(
        "SELECT kind, state, chosen FROM tasks WHERE task_id = $1 FOR UPDATE",
        task.0,
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Locked {
            kind: (row.kind.parse())
                .map_err(|error| StoreError::inconsistent("tasks", "kind", error))?,
            state: (row.state.parse())
                .map_err(|error| StoreError::inconsistent("tasks", "state", error))?,
            chosen: row.chosen,
        })
    })
    .transpose()
}

pub(super) async fn start(
    conn: &mut PgConnection,
    task: TaskId,
    reason: &str,
    by: OperatorId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE tasks SET state = 'running', reason = $2, started_by = $3, started_at = $4 WHERE task_id = $1",
        task.0,
        reason,
        by.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn end(
    conn: &mut PgConnection,
    task: TaskId,
    state: State,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE tasks SET state = $2, ended_at = $3 WHERE task_id = $1",
        task.0,
        state.as_str(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends the running tasks that have nothing to do any more and that nobody works on.
pub(super) async fn end_finished(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE tasks SET state = 'done', ended_at = $1
         WHERE task_id IN (
             SELECT task_id FROM tasks t WHERE t.state = 'running'
                AND NOT EXISTS (SELECT FROM task_items i WHERE i.task_id = t.task_id AND i.outcome IS NULL)
             FOR UPDATE SKIP LOCKED)",
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes the next thing of a running task, which stays running until it is done.
pub(super) async fn claim(conn: &mut PgConnection) -> Result<Option<Item>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT i.task_id, i.number, i.subject, t.kind, t.reason AS "reason!", t.started_by AS "by!", o.email
           FROM tasks t JOIN task_items i USING (task_id) JOIN operators o ON o.operator_id = t.started_by
           WHERE t.state = 'running' AND i.outcome IS NULL
           ORDER BY i.task_id, i.number LIMIT 1 FOR UPDATE OF i SKIP LOCKED"#
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Item {
            task: TaskId(row.task_id),
            number: row.number,
            subject: row.subject,
            kind: (row.kind.parse())
                .map_err(|error| StoreError::inconsistent("tasks", "kind", error))?,
            reason: row.reason,
            by: OperatorId(row.by),
            email: row.email,
        })
    })
    .transpose()
}

pub(super) async fn tell(
    conn: &mut PgConnection,
    item: &Item,
    outcome: Outcome,
    told: Option<&str>,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE task_items SET outcome = $3, told = $4, at = $5 WHERE task_id = $1 AND number = $2",
        item.task.0,
        item.number,
        outcome.as_str(),
        told,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
