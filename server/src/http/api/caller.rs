//! Who calls: the API key of the `Authorization` header, and how often it may.

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use domain::id::TenantId;
use engine::{api_key, error::StoreError};
use governor::clock::{Clock as _, DefaultClock};

use super::Api;
use crate::http::problem::{Kind, Problem};

/// The tenant and mode a verified key speaks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller(pub(super) api_key::Caller);

impl Caller {
    /// What scopes every query.
    pub(super) fn scope(self) -> (TenantId, bool) {
        (self.0.tenant, self.0.livemode)
    }
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let refused = || {
            Problem::new(
                Kind::Unauthorized,
                "No valid API key came with the request.",
            )
        };
        let mut values = parts.headers.get_all(header::AUTHORIZATION).iter();
        // Two headers are one too many to know who calls.
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(refused());
        };
        let text = value.to_str().ok().and_then(|value| value.split_once(' '));
        let (scheme, key) = text.ok_or_else(refused)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(refused());
        }
        let mut conn = api
            .engine
            .pool()
            .acquire()
            .await
            .map_err(StoreError::from)?;
        let caller = api_key::authenticate(&mut conn, key.trim()).await?;
        let caller = caller.ok_or_else(refused)?;
        api.limits.check_key(&caller.key).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Problem::new(
                Kind::RateLimited,
                "This key sends more requests a second than it may.",
            )
            .retry_after(wait.as_secs() + 1)
        })?;
        Ok(Self(caller))
    }
}
