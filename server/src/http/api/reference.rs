//! What the backend tells about a job: the provider's reference, and where the output is.

use axum::{
    Json,
    extract::{Path, State},
};
use engine::job::dispatch::RecordError;

use super::{
    Api,
    body::{JobBody, OutputBody, ProblemBody, ReferenceBody, name, output},
    caller::Caller,
    jobs::job_id,
    strict::Strict,
};
use crate::http::problem::{Kind, Problem};

/// Attach the provider's reference
///
/// Call it once the provider has given the work an id. Events that came before it then go through. It is
/// set once: the same again changes nothing, another one is refused.
#[utoipa::path(
    put, path = "/jobs/{id}/provider-reference", tag = "jobs", security(("api_key" = [])), request_body = ReferenceBody,
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "On record", body = JobBody),
        (status = 404, description = "No such job of this tenant and mode", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Another reference is on record, or another job has this one", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "No such source of this mode", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn attach(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Strict(body): Strict<ReferenceBody>,
) -> Result<Json<JobBody>, Problem> {
    let source = name("source", &body.source)?;
    let reference = name("provider_reference", &body.provider_reference)?;
    let job = api
        .engine
        .attach_job_reference(caller.scope(), job_id(&id)?, &source, &reference)
        .await?;
    Ok(Json(job.into()))
}

/// Record where the output is stored
///
/// A job with `output_required` completes once the provider has succeeded and this is on record. It is set
/// once: the same again changes nothing, another one is refused.
#[utoipa::path(
    put, path = "/jobs/{id}/output", tag = "jobs", security(("api_key" = [])), request_body = OutputBody,
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "On record", body = JobBody),
        (status = 404, description = "No such job of this tenant and mode", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "Another output is on record, or the job is blocked", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn store_output(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
    Strict(body): Strict<OutputBody>,
) -> Result<Json<JobBody>, Problem> {
    let output = output(&body.output)?;
    let job = api
        .engine
        .store_job_output(caller.scope(), job_id(&id)?, &output)
        .await?;
    Ok(Json(job.into()))
}

impl From<RecordError> for Problem {
    fn from(error: RecordError) -> Self {
        let text = error.to_string();
        match error {
            RecordError::UnknownJob(_) => Self::new(Kind::NotFound, text),
            RecordError::UnknownSource(_) => Self::new(Kind::Invalid, text),
            RecordError::AlreadySet { known, .. } => {
                Self::new(Kind::StateConflict, text).with("recorded", known)
            }
            RecordError::ReferenceTaken => Self::new(Kind::StateConflict, text),
            RecordError::State(state) => Self::new(Kind::StateConflict, text).with("state", state),
            RecordError::Store(error) => Self::storage(&error),
        }
    }
}
