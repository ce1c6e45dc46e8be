//! Signing in and out.

use std::net::SocketAddr;

use axum::{
    Form,
    extract::{ConnectInfo, Extension, State},
    response::Response,
};
use engine::{
    error::StoreError,
    operator::{Operator, SignInError},
};
use serde::Deserialize;
use serde_json::json;
use tower_sessions::Session;

use super::{Console, CurrentOperator, gate, return_path};
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
}

/// Signs in, under a new session id, so that one planted before is worth nothing.
pub(super) async fn sign_in(
    State(console): State<Console>,
    ConnectInfo(address): ConnectInfo<SocketAddr>,
    session: Session,
    Form(form): Form<SignInForm>,
) -> Result<Response, Problem> {
    let back = return_path::safe(&form.back);
    let address = address.ip().to_string();
    let refused = match console
        .engine
        .sign_in(&form.email, &form.password, &address)
        .await
    {
        Ok(operator) => {
            open(&console, &session, &operator).await?;
            metrics::counter!("sign_ins_total", "outcome" => "opened").increment(1);
            return Ok(return_path::see_other(back));
        }
        Err(SignInError::Credentials) => "credentials",
        Err(SignInError::Locked) => "attempts",
        Err(SignInError::Store(error)) => return Err(error.into()),
        Err(error @ SignInError::Password(_)) => return Err(Problem::internal(&error)),
    };
    metrics::counter!("sign_ins_total", "outcome" => refused).increment(1);
    let email: String = form.email.chars().take(320).collect();
    let (email, back) = (return_path::encode(&email), return_path::encode(back));
    Ok(return_path::see_other(&format!(
        "/sign-in?refused={refused}&email={email}&back={back}"
    )))
}

async fn open(console: &Console, session: &Session, operator: &Operator) -> Result<(), Problem> {
    let failed = |error: tower_sessions::session::Error| {
        tracing::error!(%error, "a session could not be opened");
        Problem::new(Kind::Unavailable, "The session could not be kept.")
    };
    session.cycle_id().await.map_err(failed)?;
    session
        .insert(gate::OPERATOR, operator.id)
        .await
        .map_err(failed)?;
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
