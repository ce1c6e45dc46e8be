//! The gate every console request passes: who is signed in, and what the frame of the page shows.

use axum::{
    extract::{Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::id::OperatorId;
use engine::{
    audit::By,
    error::StoreError,
    operator::{self, Operator, Role},
};
use tower_sessions::Session;

use super::{Console, frame, kept, problem_page, return_path, sign_in};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// Key of the session under which the operator's id is kept.
pub(super) const OPERATOR: &str = "operator";
/// Key under which the time of the last renewal is kept.
const RENEWED: &str = "renewed";
/// A session in use is prolonged at most this often, so that reading pages does not write.
const RENEW_SECONDS: i64 = 600;

/// The operator who sends the request. Handlers take it from the request's extensions.
#[derive(Clone, Debug)]
pub struct CurrentOperator(pub Operator);

impl CurrentOperator {
    /// Them, as the audit log names who acts in this request.
    pub fn by<'a>(&'a self, request: Option<&'a RequestId>) -> By<'a> {
        By {
            operator: self.0.id,
            email: &self.0.email,
            request_id: request.map(RequestId::as_str),
        }
    }

    /// Whether the operator may do what `role` may.
    ///
    /// # Errors
    /// A problem that says which role it takes.
    pub fn must_be(&self, role: Role) -> Result<(), Problem> {
        if self.0.role >= role {
            return Ok(());
        }
        Err(Problem::new(
            Kind::Forbidden,
            format!("This takes the role {role}; yours is {}.", self.0.role),
        ))
    }
}

/// Lets a request through when an operator is signed in; sends it to the sign-in page otherwise.
pub(super) async fn pass(
    State(console): State<Console>,
    session: Session,
    request: Request,
    next: Next,
) -> Response {
    let operator = match current(&console, &session).await {
        Ok(operator) => operator,
        Err(problem) => return problem.into_response(),
    };
    let path = request.uri().path();
    if operator.is_none() && !is_open(path) {
        return turn_away(&console, request).await;
    }
    // The body stays out of what is awaited: it cannot be shared between threads.
    let (parts, body) = request.into_parts();
    let frame = match frame::of(&console, &session, &parts, operator.as_ref()).await {
        Ok(frame) => frame,
        Err(problem) => return problem.into_response(),
    };
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(frame);
    if let Some(operator) = operator {
        request.extensions_mut().insert(CurrentOperator(operator));
    }
    next.run(request).await
}

/// Answered for everybody.
fn is_open(path: &str) -> bool {
    matches!(path, "/sign-in" | "/theme")
}

/// The operator of the session, read anew for each request, so that disabling an account and changing
/// its role work at once.
async fn current(console: &Console, session: &Session) -> Result<Option<Operator>, Problem> {
    let failed = |error: tower_sessions::session::Error| {
        tracing::error!(%error, "a session could not be read");
        Problem::new(Kind::Unavailable, "The session could not be read.")
    };
    let Some(id) = session.get::<OperatorId>(OPERATOR).await.map_err(failed)? else {
        return Ok(None);
    };
    let mut conn = console
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let operator = operator::find(&mut conn, id).await?;
    if operator.is_some() {
        let now = console.engine.clock().now().timestamp();
        let renewed = session.get::<i64>(RENEWED).await.map_err(failed)?;
        if renewed.is_none_or(|at| now - at > RENEW_SECONDS) {
            session.insert(RENEWED, now).await.map_err(failed)?;
        }
    }
    Ok(operator)
}

async fn turn_away(console: &Console, request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with("/webhooks/") || path.starts_with("/v1/") {
        // A machine that is sent to a sign-in page learns nothing from it.
        let detail = "This process serves no such path.";
        return Problem::new(Kind::NotFound, detail).into_response();
    }
    if path == "/live" || path == "/jump/suggest" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if *request.method() == Method::POST && problem_page::navigates(request.headers()) {
        let headers = request.headers().clone();
        return sign_in::instead_of_a_form(console, &headers, kept::take(request).await).await;
    }
    let back = match *request.method() {
        Method::GET | Method::HEAD => request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str()),
        _ => "/",
    };
    return_path::see_other(&format!(
        "/sign-in?back={}",
        return_path::encode(return_path::safe(back))
    ))
}
