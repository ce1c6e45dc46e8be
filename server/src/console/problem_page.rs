//! Problems as pages: what the API says as JSON, a person at a browser reads as a page.
//!
//! Handlers and the gate answer with a [`Problem`](crate::http::problem::Problem) whoever asks. Here a
//! browser's navigation gets the designed page of the same status instead.

use app::shell::{ErrorDocument, ErrorKind};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};
use leptos::{context::provide_context, prelude::*};
use leptos_axum::render_app_async_with_context;

use super::{Console, frame};

/// Draws the page of a problem for whoever asked for a page.
pub(super) async fn show(State(console): State<Console>, request: Request, next: Next) -> Response {
    if !navigates(request.headers()) {
        return next.run(request).await;
    }
    // The answer to a form has no address of its own to come back to.
    let location = match *request.method() {
        Method::GET => request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str()),
        _ => "/",
    };
    let frame = frame::plain(&console, request.headers(), location);
    let uri = request.uri().clone();
    let answer = next.run(request).await;
    if !is_problem(answer.headers()) {
        return answer;
    }
    let kind = kind(answer.status());
    let options = console.options;
    let draw = render_app_async_with_context(
        move || provide_context(frame.clone()),
        move || view! { <ErrorDocument options=options.clone() kind/> },
    );
    let mut asked = Request::new(Body::empty());
    *asked.uri_mut() = uri;
    let mut page = draw(asked).await;
    *page.status_mut() = answer.status();
    if let Some(wait) = answer.headers().get(header::RETRY_AFTER) {
        page.headers_mut().insert(header::RETRY_AFTER, wait.clone());
    }
    page
}

/// Browsers ask for pages by name; scripts and machines take anything.
pub(super) fn navigates(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

fn is_problem(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value == "application/problem+json")
}

/// The page that stands for a status.
fn kind(status: StatusCode) -> ErrorKind {
    match status {
        StatusCode::FORBIDDEN => ErrorKind::Forbidden,
        StatusCode::CONFLICT => ErrorKind::Conflict,
        StatusCode::TOO_MANY_REQUESTS => ErrorKind::TooMany,
        StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Unavailable,
        status if status.is_client_error() => ErrorKind::NotFound,
        _ => ErrorKind::Internal,
    }
}
