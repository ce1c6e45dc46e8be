//! Prices: immutable dated versions.

mod store;
pub mod views;

use chrono::{DateTime, Utc};
use domain::{
    money::Currency,
    price::{Price, Terms, TermsError},
};
use sqlx::PgConnection;

use crate::{Engine, error::StoreError};

/// Why a price version was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddPriceError {
    /// The terms cannot be used.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Its own estimate cannot be priced by it.
    #[error("the estimate in the terms cannot be priced by them")]
    Estimate(#[from] domain::price::RatingError),
    /// Another version was added at the same moment.
    #[error(
        "another version of this price was added at the same moment: look at it, then try again"
    )]
    Raced,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Adds the next version of a price; earlier ones stay as they are.
///
/// # Errors
/// [`AddPriceError`].
pub async fn add(
    conn: &mut PgConnection,
    engine: &Engine,
    (model, currency): (&str, Currency),
    terms: &Terms,
    effective_from: DateTime<Utc>,
    by: &str,
) -> Result<i32, AddPriceError> {
    terms.check()?;
    let trial = Price {
        model: model.to_owned(),
        currency,
        version: 1,
        terms: terms.clone(),
    };
    trial.rate(&terms.estimate, domain::price::UnknownMeters::Refuse)?;
    let at = engine.clock().now();
    store::insert(conn, (model, currency), terms, effective_from, at, by).await
}

pub use store::in_force;
