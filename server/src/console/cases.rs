//! The form of a case: what a person decides about an event.

use std::collections::HashMap;

use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use domain::{event::CaseDecision, id::EventId};
use engine::{
    case::{CaseError, Verdict},
    operator::Role,
};
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::http::{
    problem::{Kind, Problem},
    request::RequestId,
};

/// Decides, and says on the event's page what came of it. The reason's field carries the number of its
/// conflict, because an event may have several; `field` names it.
pub(super) async fn decide(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(event): Path<String>,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Response, Problem> {
    who.must_be(Role::Finance)?;
    let event: EventId = event.parse().map_err(|_| not_found())?;
    let text = |name: &str| form.get(name).map_or("", String::as_str);
    let verdict = match text("decision").parse() {
        Ok(CaseDecision::KeepFirst) => {
            Verdict::KeepFirst(text("conflict").parse().map_err(|_| not_found())?)
        }
        Ok(CaseDecision::Dismiss) => Verdict::Dismiss,
        Ok(CaseDecision::Replay) => Verdict::Replay,
        Ok(CaseDecision::AcceptOther) | Err(_) => return Err(not_found()),
    };
    let field = match text("field") {
        "" => "reason",
        named => named,
    };
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    let decided = console
        .engine
        .decide_case(event, verdict, text(field), by)
        .await;
    let (good, said) = match decided {
        Ok(()) => (true, done(verdict).to_owned()),
        Err(CaseError::Unknown) => return Err(not_found()),
        Err(CaseError::Store(error)) => return Err(error.into()),
        Err(error @ (CaseError::NoReason | CaseError::Decided { .. } | CaseError::NotOpen(_))) => {
            (false, format!("Nothing was changed: {error}"))
        }
    };
    frame::tell(&session, good, &said, None).await;
    Ok(return_path::see_other(&format!("/events/{event}")))
}

const fn done(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::KeepFirst(_) => "What came first stands",
        Verdict::Dismiss => "The event changes nothing",
        Verdict::Replay => "The event is looked at again now",
    }
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such event or decision.")
}
