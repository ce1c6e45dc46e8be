//! Signing in and out. A form that comes without a session is answered with the sign-in page, which carries
//! what was typed until someone has signed in.

use std::net::SocketAddr;

use app::{
    shell::{Flash, Kept},
    ui::Tone,
};
use axum::{
    Form,
    body::Body,
    extract::{ConnectInfo, Extension, State},
    http::{HeaderMap, Request, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use engine::{
    error::StoreError,
    operator::{Operator, SignInError},
};
use leptos::context::provide_context;
use leptos_axum::render_app_async_with_context;
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, gate, kept, return_path};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

#[derive(Deserialize)]
pub(super) struct SignInForm {
    email: String,
    password: String,
    #[serde(default)]
    back: String,
    #[serde(default)]
    kept: String,
}

/// Signs in, under a new session id, so that one planted before is worth nothing.
pub(super) async fn sign_in(
    State(console): State<Console>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    session: Session,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Result<Response, Problem> {
    let kept = kept::read(&form.kept);
    let page = kept.as_ref().and_then(kept::page);
    let back = page.unwrap_or_else(|| return_path::safe(&form.back).to_owned());
    let address = address.ip().to_string();
    let refused = match console
        .engine
        .sign_in(&form.email, &form.password, &address)
        .await
    {
        Ok(operator) => {
            open(&console, &session, &operator, kept).await?;
            metrics::counter!("sign_ins_total", "outcome" => "opened").increment(1);
            return Ok(return_path::see_other(&back));
        }
        Err(SignInError::Credentials) => "credentials",
        Err(SignInError::Locked) => "attempts",
        Err(SignInError::Store(error)) => return Err(error.into()),
        Err(error @ SignInError::Password(_)) => return Err(Problem::internal(&error)),
    };
    metrics::counter!("sign_ins_total", "outcome" => refused).increment(1);
    let email: String = form.email.chars().take(320).collect();
    let (email, back) = (return_path::encode(&email), return_path::encode(&back));
    let again = format!("/sign-in?refused={refused}&email={email}&back={back}");
    match kept {
        Some(kept) => Ok(draw(&console, &headers, &again, Some(kept)).await),
        None => Ok(return_path::see_other(&again)),
    }
}

/// The sign-in page as the answer to a form whose session had ended.
pub(super) async fn instead_of_a_form(
    console: &Console,
    headers: &HeaderMap,
    kept: Result<Kept, String>,
) -> Response {
    let page = kept
        .as_ref()
        .map_or_else(|page| Some(page.clone()), kept::page);
    let back = return_path::encode(page.as_deref().unwrap_or("/"));
    let location = format!("/sign-in?back={back}");
    draw(console, headers, &location, kept.ok()).await
}

/// Draws the sign-in page with what was typed into another form, and says what becomes of it.
async fn draw(
    console: &Console,
    headers: &HeaderMap,
    location: &str,
    kept: Option<Kept>,
) -> Response {
    let Ok(uri) = location.parse::<Uri>() else {
        return return_path::see_other("/sign-in");
    };
    let detail = match kept {
        Some(_) => "Nothing was sent. Sign in, and the form is there again with what you typed.",
        None => {
            "Nothing was sent, and this form could not be kept: files, choices in a list and very long \
             input have to be entered again."
        }
    };
    let flash = Flash {
        tone: Tone::Attention,
        text: "Your session has ended".to_owned(),
        detail: Some(detail.to_owned()),
    };
    let frame = app::FrameData {
        flash: Some(flash),
        kept,
        ..frame::plain(console, headers, location)
    };
    let options = console.options.clone();
    let page = render_app_async_with_context(
        move || provide_context(frame.clone()),
        move || app::shell(options.clone()),
    );
    let mut asked = Request::new(Body::empty());
    *asked.uri_mut() = uri;
    (StatusCode::UNAUTHORIZED, page(asked).await).into_response()
}

async fn open(
    console: &Console,
    session: &Session,
    operator: &Operator,
    kept: Option<Kept>,
) -> Result<(), Problem> {
    let failed = |error: tower_sessions::session::Error| {
        tracing::error!(%error, "a session could not be opened");
        Problem::new(Kind::Unavailable, "The session could not be kept.")
    };
    session.cycle_id().await.map_err(failed)?;
    session
        .insert(gate::OPERATOR, operator.id)
        .await
        .map_err(failed)?;
    if let Some(kept) = kept {
        session.insert(kept::KEPT, kept).await.map_err(failed)?;
    }
    record(console, operator, "session.open").await?;
    Ok(())
}

/// Signs out: the session is gone, wherever its cookie still is.
pub(super) async fn sign_out(
    State(console): State<Console>,
    operator: Option<Extension<CurrentOperator>>,
    session: Session,
) -> Result<Response, Problem> {
    session.flush().await.map_err(|error| {
        tracing::error!(%error, "a session could not be ended");
        Problem::new(Kind::Unavailable, "The session could not be ended.")
    })?;
    if let Some(Extension(CurrentOperator(operator))) = operator {
        record(&console, &operator, "session.close").await?;
    }
    Ok(return_path::see_other("/sign-in"))
}

async fn record(console: &Console, operator: &Operator, action: &str) -> Result<(), StoreError> {
    let request = RequestId::current();
    let who = CurrentOperator(operator.clone());
    let object = operator.id.to_string();
    let record = who
        .by(request.as_ref())
        .did(action, &object, json!({}), None);
    console.engine.record_audit(&record).await
}
