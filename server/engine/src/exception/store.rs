//! Changes of exceptions, and of the projections they may put right.

use chrono::{DateTime, Utc};
use domain::{
    exception::{Class, What},
    id::{AccountId, EventId, LotId, OperatorId},
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// An exception under lock.
pub(super) struct Locked {
    pub(super) class: Class,
    pub(super) subject: String,
    pub(super) is_open: bool,
}

pub(super) async fn lock(conn: &mut PgConnection, id: i64) -> Result<Option<Locked>, StoreError> {
    let row = sqlx::query!(
        "SELECT class, subject, state FROM exceptions WHERE exception_id = $1 FOR UPDATE",
        id,
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Locked {
            class: (row.class.parse())
                .map_err(|error| StoreError::inconsistent("exceptions", "class", error))?,
            subject: row.subject,
            is_open: row.state == "open",
        })
    })
    .transpose()
}

/// What a person did.
pub(super) struct Note<'a> {
    pub(super) exception: i64,
    pub(super) what: What,
    pub(super) by: OperatorId,
    pub(super) key: Uuid,
    pub(super) text: Option<&'a str>,
    pub(super) at: DateTime<Utc>,
}

/// Writes a note; says whether its form was not sent before.
pub(super) async fn insert_note(
    conn: &mut PgConnection,
    note: &Note<'_>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO exception_notes (exception_id, what, operator_id, form_key, text, at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT ON CONSTRAINT exception_notes_form_once DO NOTHING",
        note.exception,
        note.what.as_str(),
        note.by.0,
        note.key,
        note.text,
        note.at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether what the form's key stands for is just this.
pub(super) async fn is_known(conn: &mut PgConnection, note: &Note<'_>) -> Result<bool, StoreError> {
    let known = sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM exception_notes
               WHERE form_key = $1 AND exception_id = $2 AND what = $3 AND operator_id = $4
                 AND text IS NOT DISTINCT FROM $5
           ) AS "known!""#,
        note.key,
        note.exception,
        note.what.as_str(),
        note.by.0,
        note.text,
    )
    .fetch_one(conn)
    .await?;
    Ok(known)
}

/// Accepts the two numbers as they are.
pub(super) async fn insert_acceptance(
    conn: &mut PgConnection,
    id: i64,
    by: OperatorId,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "INSERT INTO exception_acceptances (exception_id, expected, actual, operator_id, at)
         SELECT exception_id, expected, actual, $2, $3 FROM exceptions WHERE exception_id = $1
         ON CONFLICT ON CONSTRAINT exception_acceptances_once DO NOTHING",
        id,
        by.0,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn set_owner(
    conn: &mut PgConnection,
    id: i64,
    owner: Option<OperatorId>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE exceptions SET owner = $2 WHERE exception_id = $1",
        id,
        owner.map(|operator| operator.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn snooze(
    conn: &mut PgConnection,
    id: i64,
    until: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE exceptions SET snoozed_until = $2 WHERE exception_id = $1",
        id,
        until,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What a repair found and left, as text for the audit log.
type Changed = Option<(String, String)>;

/// Writes a balance anew from its transfers. The row lock comes first, and the transfers are read after it
/// is held: whoever posts to a wallet holds it too, and platform accounts are added to under it.
pub(super) async fn rebuild_balance(
    conn: &mut PgConnection,
    account: AccountId,
    now: DateTime<Utc>,
) -> Result<Changed, StoreError> {
    let before = sqlx::query!(
        "SELECT b.tenant_id, b.account_id, b.balance FROM tenants t
         JOIN balances b ON b.tenant_id = t.tenant_id AND b.account_id = $1 FOR UPDATE OF b",
        account.0,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(before) = before else {
        return Ok(None);
    };
    let after = sqlx::query_scalar!(
        r#"UPDATE balances SET balance = moved.total, version = moved.transfers, updated_at = $3
           FROM (SELECT coalesce(sum(change), 0) AS total, count(*) AS transfers FROM (
                     SELECT -amount AS change FROM transfers WHERE tenant_id = $1 AND debit_account_id = $2
                     UNION ALL SELECT amount FROM transfers WHERE tenant_id = $1 AND credit_account_id = $2) AS sides) AS moved
           WHERE balances.tenant_id = $1 AND balances.account_id = $2
           RETURNING balance"#,
        before.tenant_id,
        before.account_id,
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(Some((before.balance.to_string(), after.to_string())))
}

/// Writes what remains of a lot anew from its draws, under the lock of its wallet's balances, which whoever
/// draws holds. What remained before is read once that lock is held.
pub(super) async fn rebuild_lot(
    conn: &mut PgConnection,
    lot: LotId,
) -> Result<Changed, StoreError> {
    let tenant = sqlx::query_scalar!(
        "SELECT l.tenant_id FROM tenants t
         JOIN lots l ON l.tenant_id = t.tenant_id AND l.lot_id = $1
         JOIN accounts a ON a.tenant_id = l.tenant_id AND a.wallet_id = l.wallet_id
         JOIN balances b ON b.tenant_id = a.tenant_id AND b.account_id = a.account_id
         ORDER BY a.account_id FOR UPDATE OF b",
        lot.0,
    )
    .fetch_all(&mut *conn)
    .await?;
    let Some(tenant) = tenant.into_iter().next() else {
        return Ok(None);
    };
    let changed = sqlx::query!(
        "WITH before AS (SELECT remaining FROM lots WHERE tenant_id = $1 AND lot_id = $2),
         drawn AS (SELECT coalesce(sum(CASE direction WHEN 'draw' THEN -amount ELSE amount END), 0) AS change
                   FROM lot_draws WHERE tenant_id = $1 AND lot_id = $2)
         UPDATE lots SET remaining = lots.amount + drawn.change FROM drawn, before
         WHERE lots.tenant_id = $1 AND lots.lot_id = $2
         RETURNING before.remaining AS before, lots.remaining AS after",
        tenant,
        lot.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(Some((
        changed.before.to_string(),
        changed.after.to_string(),
    )))
}

/// Makes an event due now, if it has no outcome yet.
pub(super) async fn redrive(
    conn: &mut PgConnection,
    event: EventId,
    now: DateTime<Utc>,
) -> Result<Changed, StoreError> {
    let before = sqlx::query!(
        "SELECT due_at FROM events WHERE event_id = $1 AND due_at IS NOT NULL FOR UPDATE",
        event.0,
    )
    .fetch_optional(&mut *conn)
    .await?;
    let Some(before) = before else {
        return Ok(None);
    };
    sqlx::query!(
        "UPDATE events SET due_at = $2, attempts = 0 WHERE event_id = $1",
        event.0,
        now,
    )
    .execute(conn)
    .await?;
    let due = before.due_at.map(|at| at.to_string()).unwrap_or_default();
    Ok(Some((format!("due {due}"), format!("due {now}"))))
}
