//! HTTP: what every request passes through, and the routes machines use.
//!
//! Order, outermost first: request id → log span → panic to problem → time limit → role's routes.
//! The path is never logged as it came: a webhook's path may end in a secret token, so the matched
//! route stands for it.

pub mod api;
pub mod ops;
pub mod problem;
pub mod request;
pub mod webhooks;

use std::{any::Any, net::SocketAddr, time::Duration};

use axum::{
    Router,
    extract::{ConnectInfo, MatchedPath, Request, State},
    http::Method,
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};
use tracing::Span;

use self::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// How long a request may take until its answer starts.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Wraps routes in what every request passes through.
pub fn layered(routes: Router) -> Router {
    routes
        .layer(middleware::from_fn(limit_time))
        .layer(CatchPanicLayer::custom(panic_to_problem))
        .layer(middleware::from_fn(measure))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(log_answer),
        )
        .layer(middleware::from_fn(request::identify))
}

/// Lets every request tell the address of its client instead of the nearest proxy's.
pub fn behind_proxies(routes: Router, proxies: u8) -> Router {
    if proxies == 0 {
        return routes;
    }
    routes.layer(middleware::map_request_with_state(proxies, name_client))
}

async fn name_client(State(proxies): State<u8>, mut request: Request) -> Request {
    if let Some(client) = request::client(request.headers(), proxies) {
        let client = SocketAddr::new(client, 0);
        request.extensions_mut().insert(ConnectInfo(client));
    }
    request
}

async fn limit_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(TIME_LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(Kind::Overloaded, "The request took longer than 30 seconds.")
            .into_response(),
    }
}

fn route(request: &Request) -> &str {
    request
        .extensions()
        .get::<MatchedPath>()
        .map_or("-", MatchedPath::as_str)
}

/// A method as metrics name it. Any token is a method in HTTP, and every new label value would be kept
/// for ever, so what is not common is counted together.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

async fn measure(request: Request, next: Next) -> Response {
    let labels = [
        ("method", method_label(request.method()).to_owned()),
        ("route", route(&request).to_owned()),
    ];
    let begun = std::time::Instant::now();
    let response = next.run(request).await;
    metrics::histogram!("http_request_seconds", &labels).record(begun.elapsed().as_secs_f64());
    let status = response.status().as_u16().to_string();
    let [method, route] = labels;
    metrics::counter!("http_requests_total", &[method, route, ("status", status)]).increment(1);
    response
}

fn span(request: &Request) -> Span {
    let id = request
        .extensions()
        .get::<RequestId>()
        .map_or("-", RequestId::as_str);
    tracing::info_span!("request", method = %request.method(), route = route(request), id)
}

fn log_answer(response: &Response, took: Duration, _: &Span) {
    let (status, ms) = (response.status().as_u16(), took.as_millis());
    if response.status().is_server_error() {
        tracing::error!(status, ms, "answered");
    } else {
        tracing::debug!(status, ms, "answered");
    }
}

fn panic_to_problem(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("unknown");
    tracing::error!(message, "a handler panicked");
    Problem::new(Kind::Internal, "The request could not be finished.").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_methods_are_counted_together() {
        let made_up = Method::from_bytes(b"WHATEVER-1").unwrap();
        assert_eq!(method_label(&made_up), "other");
        assert_eq!(method_label(&Method::POST), "POST");
    }
}
