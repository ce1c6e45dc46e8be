//! The form that asks a provider how a job stands.

use std::collections::HashMap;

use axum::{
    Form,
    extract::{Extension, Path, State},
    response::Response,
};
use domain::{ask::Outcome, id::JobId};
use engine::{ask::AskError, operator::Role, source::SourceError};
use tower_sessions::Session;

use super::{Console, CurrentOperator, frame, return_path};
use crate::{
    ask::{AskingError, Told},
    http::{
        problem::{Kind, Problem},
        request::RequestId,
    },
};

/// Asks, and says on the page the form was on what came of it.
pub(super) async fn ask(
    State(console): State<Console>,
    Extension(who): Extension<CurrentOperator>,
    session: Session,
    Path(job): Path<String>,
    Form(form): Form<HashMap<String, String>>,
) -> Result<Response, Problem> {
    who.must_be(Role::Support)?;
    let job: JobId = job.parse().map_err(|_| not_found())?;
    let request_id = RequestId::current();
    let by = who.by(request_id.as_ref());
    let (good, said) = match console.asker.ask(job, by).await {
        Ok(told) => said(&told),
        Err(AskingError::Refused(AskError::UnknownJob)) => return Err(not_found()),
        Err(AskingError::Refused(AskError::Store(error)) | AskingError::Store(error)) => {
            return Err(error.into());
        }
        Err(AskingError::Refused(AskError::Source(SourceError::Store(error)))) => {
            return Err(error.into());
        }
        Err(AskingError::Lost(error)) => {
            tracing::error!(%error, "a question ended before its time");
            return Err(Problem::new(Kind::Internal, "The question was lost."));
        }
        Err(error @ (AskingError::Refused(_) | AskingError::Key(_))) => {
            (false, format!("Nobody was asked: {error}"))
        }
    };
    frame::tell(&session, good, &said, None).await;
    let back = match form.get("back").map(String::as_str) {
        Some(path) if path.starts_with("/uncertain") => return_path::safe(path).to_owned(),
        _ => format!("/jobs/{job}"),
    };
    Ok(return_path::see_other(&back))
}

fn said(told: &Told) -> (bool, String) {
    let status = told.status.unwrap_or(0);
    match told.outcome {
        Outcome::Ended if told.known => (
            true,
            "The provider answered as before: the work has ended".to_owned(),
        ),
        Outcome::Ended => (
            true,
            "The provider answered: the work has ended. It is settled within a moment".to_owned(),
        ),
        Outcome::Running => (
            true,
            "The provider answered: the work goes on. Nothing is settled by that".to_owned(),
        ),
        Outcome::Unused => (
            false,
            "The provider answered with a word that settles nothing; its answer is kept".to_owned(),
        ),
        Outcome::Unusable => (
            false,
            "The provider answered, but not with usage that can be billed; its answer is kept and a person looks at it"
                .to_owned(),
        ),
        Outcome::NotFound => (false, format!("The provider answered {status}: it knows no such work")),
        Outcome::Refused => (
            false,
            format!("The provider answered {status}: it does not take our token; set the answer API anew"),
        ),
        Outcome::Redirected => (
            false,
            format!("The provider answered {status} and sent us elsewhere, where we do not go: correct its address"),
        ),
        Outcome::Failed => (false, format!("The provider answered {status}: ask again later")),
        Outcome::Unreachable => (false, "The provider could not be reached: ask again later".to_owned()),
        Outcome::TooSlow => (false, "The provider did not answer in time: ask again later".to_owned()),
        Outcome::TooLarge => (
            false,
            "The provider's answer is larger than the source may send, and was not read".to_owned(),
        ),
        Outcome::NotJson => (
            false,
            format!("The provider answered {status}, but not with JSON: check the address of the answer API"),
        ),
        Outcome::Unreadable => (
            false,
            "The provider's answer has not the shape that the source's adapter reads".to_owned(),
        ),
        Outcome::OtherJob => (
            false,
            "The provider answered about other work than was asked about; nothing of it is kept".to_owned(),
        ),
        Outcome::NotStored => (
            false,
            "The provider's answer could not be stored: ask again".to_owned(),
        ),
    }
}

fn not_found() -> Problem {
    Problem::new(Kind::NotFound, "There is no such job.")
}
