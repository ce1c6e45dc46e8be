//! Operators and sign-in counters in and out.

use chrono::{DateTime, Utc};
use domain::id::OperatorId;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{AddOperatorError, Listed, NewOperator, Operator};
use crate::error::StoreError;

struct Row {
    operator_id: Uuid,
    email: String,
    name: String,
    role: String,
    time_zone: String,
}

impl TryFrom<Row> for Operator {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let role = row.role.parse().map_err(|error: super::UnknownRole| {
            StoreError::inconsistent("operators", "role", error)
        })?;
        Ok(Self {
            id: OperatorId(row.operator_id),
            email: row.email,
            name: row.name,
            role,
            time_zone: row.time_zone,
        })
    }
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    id: OperatorId,
    email: &str,
    new: &NewOperator<'_>,
    hash: &str,
    at: DateTime<Utc>,
) -> Result<(), AddOperatorError> {
    let done = sqlx::query!(
        "INSERT INTO operators (operator_id, email, name, role, password_hash, created_at)
         VALUES ($1, $2, $3, $4, $5, $6)",
        id.0,
        email,
        new.name,
        new.role.as_str(),
        hash,
        at,
    )
    .execute(conn)
    .await
    .map_err(StoreError::from);
    match done {
        Ok(_) => Ok(()),
        Err(error) if error.constraint() == Some("operators_email") => {
            Err(AddOperatorError::Exists)
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn find(
    conn: &mut PgConnection,
    id: OperatorId,
) -> Result<Option<Operator>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "SELECT operator_id, email, name, role, time_zone FROM operators
         WHERE operator_id = $1 AND disabled_at IS NULL",
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Operator::try_from).transpose()
}

/// The account and its password hash, unless it is disabled.
pub(super) async fn credentials(
    conn: &mut PgConnection,
    email: &str,
) -> Result<Option<(Operator, String)>, StoreError> {
    let row = sqlx::query!(
        "SELECT operator_id, email, name, role, time_zone, password_hash FROM operators
         WHERE email = $1 AND disabled_at IS NULL",
        email,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let operator = Row {
        operator_id: row.operator_id,
        email: row.email,
        name: row.name,
        role: row.role,
        time_zone: row.time_zone,
    };
    Ok(Some((operator.try_into()?, row.password_hash)))
}

/// Only while the hash is the one that was checked: a password changed meanwhile stays changed.
pub(super) async fn renew_hash(
    conn: &mut PgConnection,
    id: OperatorId,
    checked: &str,
    renewed: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE operators SET password_hash = $3 WHERE operator_id = $1 AND password_hash = $2",
        id.0,
        checked,
        renewed,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Records an attempt for each subject and returns the rows, so that they can be taken back.
pub(super) async fn record_attempt(
    conn: &mut PgConnection,
    subjects: &[String; 3],
    at: DateTime<Utc>,
) -> Result<Vec<i64>, StoreError> {
    let rows = sqlx::query_scalar!(
        "INSERT INTO sign_in_failures (subject, failed_at)
         SELECT subject, $2 FROM unnest($1::text[]) subject RETURNING failure_id",
        subjects.as_slice(),
        at,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows)
}

pub(super) async fn count_since(
    conn: &mut PgConnection,
    [first, second, third]: &[String; 3],
    since: DateTime<Utc>,
) -> Result<[i64; 3], StoreError> {
    let row = sqlx::query!(
        r#"SELECT count(*) FILTER (WHERE subject = $1) AS "first!",
                  count(*) FILTER (WHERE subject = $2) AS "second!",
                  count(*) FILTER (WHERE subject = $3) AS "third!"
           FROM sign_in_failures WHERE subject IN ($1, $2, $3) AND failed_at > $4"#,
        first,
        second,
        third,
        since,
    )
    .fetch_one(conn)
    .await?;
    Ok([row.first, row.second, row.third])
}

pub(super) async fn take_back(conn: &mut PgConnection, rows: &[i64]) -> Result<(), StoreError> {
    sqlx::query!(
        "DELETE FROM sign_in_failures WHERE failure_id = ANY($1)",
        rows
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn forget(conn: &mut PgConnection, subjects: &[String]) -> Result<(), StoreError> {
    sqlx::query!(
        "DELETE FROM sign_in_failures WHERE subject = ANY ($1)",
        subjects
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn list(conn: &mut PgConnection) -> Result<Vec<Listed>, StoreError> {
    let rows = sqlx::query!("SELECT email, name, role, disabled_at FROM operators ORDER BY email")
        .fetch_all(conn)
        .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Listed {
                role: row.role.parse().map_err(|error: super::UnknownRole| {
                    StoreError::inconsistent("operators", "role", error)
                })?,
                email: row.email,
                name: row.name,
                disabled_at: row.disabled_at,
            })
        })
        .collect()
}

pub(super) async fn disable(
    conn: &mut PgConnection,
    email: &str,
    at: DateTime<Utc>,
) -> Result<Option<OperatorId>, StoreError> {
    let id = sqlx::query_scalar!(
        "UPDATE operators SET disabled_at = $2 WHERE email = $1 AND disabled_at IS NULL RETURNING operator_id",
        email,
        at,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(OperatorId))
}

pub(super) async fn set_hash(
    conn: &mut PgConnection,
    email: &str,
    hash: &str,
) -> Result<Option<OperatorId>, StoreError> {
    let id = sqlx::query_scalar!(
        "UPDATE operators SET password_hash = $2 WHERE email = $1 AND disabled_at IS NULL RETURNING operator_id",
        email,
        hash,
    )
    .fetch_optional(conn)
    .await?;
    Ok(id.map(OperatorId))
}
