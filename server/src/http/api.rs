//! The Jobs API under `/v1`: what a tenant's backend calls, described by itself at `/v1/openapi.json`.
//!
//! What must stay true: a key sees its own tenant and mode and nothing else; amounts and quantities are
//! strings in both directions; nothing here adds credit.

mod body;
mod caller;
mod jobs;
mod reference;
mod strict;
mod wallets;

use std::{num::NonZeroU32, sync::Arc};

use axum::{
    Router,
    http::{HeaderValue, header},
};
use domain::id::ApiKeyId;
use engine::Engine;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::{router::OpenApiRouter, routes};
use utoipa_swagger_ui::SwaggerUi;

use super::problem::{Kind, Problem};

/// What the handlers share.
#[derive(Clone)]
struct Api {
    engine: Engine,
    limits: Arc<DefaultKeyedRateLimiter<ApiKeyId>>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Quittance Jobs API",
        description = "Submit asynchronous work, hold its price, and follow what it came to.\n\n\
            Amounts and quantities are decimal strings such as `\"12.50\"`; numbers are refused. \
            Errors are `application/problem+json` (RFC 9457) with a stable `type`, a `request_id` and a \
            `next_step`. Repeating a submission with the same `client_request_id` is always safe."
    ),
    tags(
        (name = "jobs", description = "Asynchronous work with an immutable id."),
        (name = "wallets", description = "Prepaid funds in one currency and one mode."),
    ),
    modifiers(&Bearer)
)]
struct Description;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("qk_live_… or qk_test_…")
            .description(Some("An API key, minted with `quittance api-key mint`."))
            .build();
        openapi
            .components
            .get_or_insert_default()
            .add_security_scheme("api_key", SecurityScheme::Http(scheme));
    }
}

/// The routes, with the description and its viewer.
pub fn routes(engine: Engine, rate_per_second: u32) -> Router {
    let rate = NonZeroU32::new(rate_per_second).unwrap_or(NonZeroU32::MIN);
    let quota =
        Quota::per_second(rate).allow_burst(rate.saturating_mul(NonZeroU32::MIN.saturating_add(1)));
    let limits = Arc::new(RateLimiter::keyed(quota));
    let (api, description) = described().split_for_parts();
    let api = api
        .method_not_allowed_fallback(|| async {
            Problem::new(
                Kind::MethodNotAllowed,
                "The path exists, but not with this method.",
            )
        })
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CACHE_CONTROL,
            HeaderValue::from_static("no-store"),
        ))
        .with_state(Api { engine, limits });
    // The viewer styles itself inline; it holds no session and sends nothing but what is typed in.
    let viewer: Router = SwaggerUi::new("/v1/docs")
        .url("/v1/openapi.json", description)
        .into();
    let viewer = viewer.layer(SetResponseHeaderLayer::overriding(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; frame-ancestors 'none'",
        ),
    ));
    api.merge(viewer)
}

fn described() -> OpenApiRouter<Api> {
    let v1 = OpenApiRouter::new()
        .routes(routes!(jobs::submit, jobs::list))
        .routes(routes!(jobs::read))
        .routes(routes!(jobs::cancel))
        .routes(routes!(reference::attach))
        .routes(routes!(reference::store_output))
        .routes(routes!(wallets::list))
        .routes(routes!(wallets::read))
        .fallback(|| async { Problem::new(Kind::NotFound, "No such path in the API.") });
    OpenApiRouter::with_openapi(Description::openapi()).nest("/v1", v1)
}

/// The description, for tests and for those who generate clients.
pub fn description() -> utoipa::openapi::OpenApi {
    described().into_openapi()
}
