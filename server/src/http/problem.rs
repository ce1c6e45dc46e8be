//! Errors on the wire: RFC 9457 `application/problem+json`, with a stable type, the request's id and
//! what to do next. The table below is the whole vocabulary; `/problems/{slug}` explains each.

use axum::{
    Json, Router,
    extract::Path,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use engine::{error::StoreError, ledger::PostError};
use serde::Serialize;
use serde_json::{Map, Value};

use super::request::RequestId;

/// Declares every problem once: variant, slug, status, title, what to do next.
macro_rules! problems {
    ($($(#[$doc:meta])* $variant:ident = $slug:literal, $status:ident, $title:literal, $next:literal;)*) => {
        /// What went wrong, by what the caller does about it.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind { $($(#[$doc])* $variant,)* }

        impl Kind {
            /// Every kind, in declared order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Last part of the type URI.
            pub const fn slug(self) -> &'static str {
                match self { $(Self::$variant => $slug,)* }
            }

            /// HTTP status.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// Short summary; the same for every occurrence.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }

            /// What the caller does next.
            pub const fn next_step(self) -> &'static str {
                match self { $(Self::$variant => $next,)* }
            }
        }
    };
}

problems! {
    /// Body is not JSON.
    Malformed = "malformed", BAD_REQUEST, "The request is not well-formed",
        "Send a JSON object as described at /v1/docs.";
    /// No or a wrong API key.
    Unauthorized = "unauthorized", UNAUTHORIZED, "The API key is missing or wrong",
        "Send `Authorization: Bearer qk_…` with a key that has not been revoked. Mint one with `quittance api-key mint`.";
    /// Funds do not cover the quote.
    InsufficientFunds = "insufficient-funds", PAYMENT_REQUIRED, "The wallet cannot cover the quote",
        "Add credit to the wallet, then send the same request again: nothing was written.";
    /// Spending is stopped.
    WalletFrozen = "wallet-frozen", FORBIDDEN, "Spending from the wallet is stopped",
        "Ask the operator of this installation why the wallet, or its tenant, is frozen. Nothing was written.";
    /// Local policy refused the job.
    JobBlocked = "job-blocked", FORBIDDEN, "Local policy blocks the job",
        "Ask for less, or ask the operator to raise the tenant's limit. The job is on record with nothing reserved.";
    /// Cross-site or not allowed for this role.
    Forbidden = "forbidden", FORBIDDEN, "The request is not allowed",
        "Use an account whose role allows it, from this site's own pages.";
    /// Nothing there for this caller.
    NotFound = "not-found", NOT_FOUND, "There is no such thing",
        "Check the id, and that the key belongs to the tenant and mode that own it.";
    /// Path exists, method does not.
    MethodNotAllowed = "method-not-allowed", METHOD_NOT_ALLOWED, "The method is not allowed here",
        "See /v1/docs for the methods of this path.";
    /// The job's state or an earlier value is against it.
    StateConflict = "state-conflict", CONFLICT, "The current state does not allow it",
        "Read the job: what you ask for contradicts what is recorded.";
    /// Body too long.
    TooLarge = "too-large", PAYLOAD_TOO_LARGE, "The body is too large",
        "Send at most 64 KiB.";
    /// Not plain JSON.
    UnsupportedMedia = "unsupported-media", UNSUPPORTED_MEDIA_TYPE, "The body is not plain JSON",
        "Send `Content-Type: application/json` without a content encoding.";
    /// JSON, but not what is expected.
    Invalid = "invalid", UNPROCESSABLE_ENTITY, "A value is not acceptable",
        "Correct the value named in `detail`. Amounts and quantities are strings, such as \"12.50\".";
    /// Same key, other request.
    KeyReused = "client-request-reused", UNPROCESSABLE_ENTITY, "The client request id was used for another request",
        "Use a new `client_request_id` for a new request; repeat the recorded one unchanged to get its result.";
    /// No price.
    UnknownModel = "unknown-model", UNPROCESSABLE_ENTITY, "The model has no price in this currency",
        "Add a price with `quittance price add`, or use a model that has one.";
    /// Too many jobs at once.
    TooManyInFlight = "too-many-in-flight", TOO_MANY_REQUESTS, "Too many jobs are unsettled",
        "Wait until some jobs settle, or ask the operator to raise the tenant's limit. Nothing was written.";
    /// Too many requests a second.
    RateLimited = "rate-limited", TOO_MANY_REQUESTS, "Too many requests",
        "Wait as long as `Retry-After` says, then go on more slowly.";
    /// A webhook whose sender is not proven.
    WebhookRefused = "webhook-refused", UNAUTHORIZED, "The webhook is refused",
        "Check the URL, the secret and the clock. The receiver's own people see the reason under rejected deliveries; `quittance signature check` explains a captured request.";
    /// A webhook that is no JSON.
    WebhookMalformed = "webhook-malformed", BAD_REQUEST, "The webhook's body cannot be read",
        "Send one JSON document in UTF-8, without a byte order mark and at most 128 levels deep.";
    /// A webhook without an id.
    WebhookUnidentified = "webhook-unidentified", BAD_REQUEST, "The webhook has no event id",
        "Send a `webhook-id` header, or an `id` in the body, that stays the same when the event is sent again.";
    /// A webhook over its source's limit.
    WebhookTooLarge = "webhook-too-large", PAYLOAD_TOO_LARGE, "The webhook's body is too large",
        "Ask the sender for a smaller body, or raise the source's limit.";
    /// A compressed webhook.
    WebhookEncoded = "webhook-encoded", UNSUPPORTED_MEDIA_TYPE, "The webhook's body is compressed",
        "Send the body without a content encoding: the signature is checked over the bytes as they come.";
    /// Ours.
    Internal = "internal", INTERNAL_SERVER_ERROR, "Something is wrong on our side",
        "Report the request id. Repeating the request is safe.";
    /// Storage.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Storage is not available",
        "Repeat the same request after a moment; repeating is safe.";
    /// Too slow.
    Overloaded = "overloaded", SERVICE_UNAVAILABLE, "The server is overloaded",
        "Repeat the same request after a moment; repeating is safe.";
}

/// One occurrence of a problem.
#[derive(Debug)]
pub struct Problem {
    kind: Kind,
    detail: String,
    retry_after_seconds: Option<u64>,
    members: Map<String, Value>,
}

impl Problem {
    /// A problem with a sentence about this occurrence.
    pub fn new(kind: Kind, detail: impl Into<String>) -> Self {
        let retry_after_seconds = match kind {
            Kind::Unavailable | Kind::Overloaded | Kind::RateLimited => Some(1),
            Kind::TooManyInFlight => Some(5),
            _ => None,
        };
        Self {
            kind,
            detail: detail.into(),
            retry_after_seconds,
            members: Map::new(),
        }
    }

    /// Storage failed; logged here, once. The caller learns nothing but that a retry is safe.
    pub fn storage(error: &StoreError) -> Self {
        let cause = std::error::Error::source(error).map(ToString::to_string);
        tracing::error!(%error, cause, "storage failed");
        match error {
            StoreError::Database(_) if error.timed_out() => Self::new(
                Kind::Overloaded,
                "The database took too long over it: ask for less, such as one wallet or one state.",
            ),
            StoreError::Database(_) if error.is_refusal() => Self::new(
                Kind::Internal,
                "The database refused what should have been right.",
            ),
            StoreError::Database(_) => {
                Self::new(Kind::Unavailable, "The database could not be reached.")
            }
            StoreError::Inconsistent { .. } => {
                Self::new(Kind::Internal, "A stored record cannot be read.")
            }
        }
    }

    /// Posting failed after everything was checked: a fault of ours, or of storage.
    pub fn posting(error: &PostError) -> Self {
        match error {
            PostError::Store(error) => Self::storage(error),
            other => Self::internal(other),
        }
    }

    /// Something that cannot happen did; logged here, once.
    pub fn internal(error: &dyn std::error::Error) -> Self {
        let cause = error.source().map(ToString::to_string);
        tracing::error!(%error, cause, "a request failed");
        Self::new(Kind::Internal, "The request could not be finished.")
    }

    /// Adds a member of its own.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(value) => {
                self.members.insert(name.to_owned(), value);
            }
            Err(error) => tracing::error!(%error, name, "a problem's member has no JSON form"),
        }
        self
    }

    /// Says how long to wait.
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// What kind it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::storage(&error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = self.kind;
        let mut body = self.members;
        let mut put = |name: &str, value: Value| body.insert(name.to_owned(), value);
        put("type", format!("/problems/{}", kind.slug()).into());
        put("title", kind.title().into());
        put("status", kind.status().as_u16().into());
        put("detail", self.detail.into());
        put("next_step", kind.next_step().into());
        if let Some(id) = RequestId::current() {
            put("request_id", id.as_str().into());
        }
        let mut response = (kind.status(), Json(Value::Object(body))).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if kind == Kind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// `/problems/{slug}`: what a type means, in plain text.
pub fn routes() -> Router {
    Router::new()
        .route("/problems", get(index))
        .route("/problems/{slug}", get(explain))
}

fn paragraph(kind: Kind) -> String {
    let (slug, status, title, next) = (
        kind.slug(),
        kind.status().as_u16(),
        kind.title(),
        kind.next_step(),
    );
    format!("/problems/{slug} ({status})\n{title}.\n{next}\n")
}

async fn index() -> String {
    let all: Vec<_> = Kind::ALL.iter().map(|kind| paragraph(*kind)).collect();
    all.join("\n")
}

async fn explain(Path(slug): Path<String>) -> Result<String, Problem> {
    Kind::ALL
        .iter()
        .find(|kind| kind.slug() == slug)
        .map(|kind| paragraph(*kind))
        .ok_or_else(|| Problem::new(Kind::NotFound, "No problem has this name; see /problems."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_its_own_slug() {
        let mut slugs: Vec<_> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
        slugs.sort_unstable();
        slugs.dedup();
        assert_eq!(slugs.len(), Kind::ALL.len());
    }
}
