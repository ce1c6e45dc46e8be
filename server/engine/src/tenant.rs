//! Tenants: who pays, and by which billing policy.

mod store;
pub mod views;

use domain::{decide::Policy, id::TenantId, money::Amount};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use crate::{Engine, error::StoreError};

/// A tenant to be set up.
#[derive(Clone, PartialEq, Debug)]
pub struct NewTenant {
    /// Name shown to staff.
    pub name: String,
    /// Jobs that may be unsettled at once.
    pub in_flight_limit: i32,
    /// Largest quote let through; `None` for no limit.
    pub max_quote: Option<Decimal>,
    /// Whether a failed job's hold returns to the wallet.
    pub refund_on_failure: bool,
    /// What decisions follow.
    pub policy: Policy,
}

/// What a submission has to respect, read under the wallet's lock.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rules {
    pub(crate) in_flight_limit: i32,
    pub(crate) in_flight: i64,
    pub(crate) max_quote: Option<Decimal>,
    pub(crate) refund_on_failure: bool,
    pub(crate) frozen_reason: Option<String>,
}

impl Rules {
    /// Whether local policy lets the quote through.
    pub(crate) fn allow(&self, quote: Amount) -> bool {
        self.max_quote.is_none_or(|limit| quote.value() <= limit)
    }
}

/// Sets up a tenant.
///
/// # Errors
/// [`StoreError`].
pub async fn add(
    conn: &mut PgConnection,
    engine: &Engine,
    tenant: &NewTenant,
) -> Result<TenantId, StoreError> {
    let id = TenantId(engine.mint());
    store::insert(conn, id, tenant, engine.clock().now()).await?;
    Ok(id)
}

pub(crate) use store::rules;
