//! Price versions in and out.

use chrono::{DateTime, Utc};
use domain::{
    money::Currency,
    price::{Price, Terms},
};
use sqlx::{PgConnection, types::Json};

use super::AddPriceError;
use crate::error::StoreError;

pub(super) async fn insert(
    conn: &mut PgConnection,
    (model, currency): (&str, Currency),
    terms: &Terms,
    effective_from: DateTime<Utc>,
    at: DateTime<Utc>,
    by: &str,
) -> Result<i32, AddPriceError> {
    let version = sqlx::query_scalar!(
        "INSERT INTO price_versions (model, currency, version, terms, effective_from, created_at, created_by)
         SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4, $5, $6
         FROM price_versions WHERE model = $1 AND currency = $2
         RETURNING version",
        model,
        currency.code(),
        Json(terms) as _,
        effective_from,
        at,
        by,
    )
    .fetch_one(conn)
    .await
    .map_err(StoreError::from);
    match version {
        Err(error) if error.constraint() == Some("price_versions_pkey") => {
            Err(AddPriceError::Raced)
        }
        other => Ok(other?),
    }
}

/// The price that jobs submitted at `at` use: the newest version whose date has come.
///
/// # Errors
/// [`StoreError`].
pub async fn in_force(
    conn: &mut PgConnection,
    model: &str,
    currency: Currency,
    at: DateTime<Utc>,
) -> Result<Option<Price>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT version, terms AS "terms: Json<Terms>" FROM price_versions
           WHERE model = $1 AND currency = $2 AND effective_from <= $3
           ORDER BY effective_from DESC, version DESC LIMIT 1"#,
        model,
        currency.code(),
        at,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| Price {
        model: model.to_owned(),
        currency,
        version: row.version,
        terms: row.terms.0,
    }))
}
