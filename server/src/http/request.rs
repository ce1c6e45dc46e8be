//! Request ids: minted here for every request, never taken from the caller, so that one found in a
//! log or an audit row names exactly one request of ours.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
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

/// The address of the client, as the outermost of so many proxies of ours saw it; `None` when they have
/// not said. Whatever the client itself put into the header stands further left and is not looked at.
pub(crate) fn client(headers: &HeaderMap, proxies: u8) -> Option<IpAddr> {
    let hops: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    let client = hops.len().checked_sub(usize::from(proxies))?;
    hops.get(client)?.trim().parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_who_the_outermost_proxy_of_ours_saw() {
        let told = |lines: &[&'static str], proxies| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("x-forwarded-for", HeaderValue::from_static(line));
            }
            client(&headers, proxies).map(|address| address.to_string())
        };
        assert_eq!(told(&["203.0.113.9"], 1).as_deref(), Some("203.0.113.9"));
        // What the client claims about itself is not believed.
        let forged = ["198.51.100.1, 203.0.113.9"];
        assert_eq!(told(&forged, 1).as_deref(), Some("203.0.113.9"));
        let two = ["198.51.100.1, 203.0.113.9", "10.0.0.2"];
        assert_eq!(told(&two, 2).as_deref(), Some("203.0.113.9"));
        assert_eq!(told(&["203.0.113.9"], 2), None);
        assert_eq!(told(&["unknown"], 1), None);
    }
}
