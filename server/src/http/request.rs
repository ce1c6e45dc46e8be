//! Request ids: minted here for every request, never taken from the caller, so that one found in a
//! log or an audit row names exactly one request of ours.

use std::sync::Arc;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use uuid::Uuid;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: RequestId;
}

/// Identifies a request in answers, logs and the audit log.
#[derive(Clone, Debug)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// The text, `req_…`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The request this task answers, if it answers one.
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Clone::clone).ok()
    }
}

/// Gives the request its id, and the answer the same one.
#[expect(
    clippy::disallowed_methods,
    reason = "a request's id is no key of anything: it only joins a log to an answer"
)]
pub async fn identify(mut request: Request, next: Next) -> Response {
    let id = RequestId(format!("req_{}", Uuid::now_v7().simple()).into());
    request.extensions_mut().insert(id.clone());
    let mut response = CURRENT.scope(id.clone(), next.run(request)).await;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}
