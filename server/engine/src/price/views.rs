//! Price versions as staff see them.

use chrono::{DateTime, Utc};
use domain::{money::Currency, price::Terms};
use sqlx::PgConnection;

use crate::error::StoreError;

/// A price version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriceVersion {
    /// Model.
    pub model: String,
    /// Currency.
    pub currency: Currency,
    /// Version within model and currency.
    pub version: i32,
    /// Terms.
    pub terms: Terms,
    /// Jobs submitted from here on use it, until a later version.
    pub effective_from: DateTime<Utc>,
    /// Who entered it.
    pub created_by: String,
}

/// The price versions, by model and currency, newest version first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(conn: &mut PgConnection) -> Result<Vec<PriceVersion>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT model, currency, version, terms::text AS "terms!", effective_from, created_by FROM price_versions
           ORDER BY model, currency, version DESC LIMIT 500"#,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let currency = row.currency.parse();
            let terms = serde_json::from_str(&row.terms);
            Ok(PriceVersion {
                model: row.model,
                currency: currency.map_err(|error| {
                    StoreError::inconsistent("price_versions", "currency", error)
                })?,
                version: row.version,
                terms: terms
                    .map_err(|error| StoreError::inconsistent("price_versions", "terms", error))?,
                effective_from: row.effective_from,
                created_by: row.created_by,
            })
        })
        .collect()
}
