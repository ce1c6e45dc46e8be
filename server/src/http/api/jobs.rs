//! Submit, read, list and cancel jobs.

use axum::{
    Json,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::StatusCode,
};
use domain::{id::JobId, job::State as JobState};
use engine::{
    error::StoreError,
    job::{
        cancel::CancelError,
        submit::{Request, SubmitError},
        views::{self, JobFilter},
    },
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    Api,
    body::{JobBody, JobPage, ProblemBody, SubmitBody, SubmittedBody, name, number},
    caller::Caller,
    strict::Strict,
};
use crate::http::problem::{Kind, Problem};

const DEFAULT_PAGE: i64 = 50;
const LARGEST_PAGE: i64 = 200;

/// Submit a job
///
/// Prices the estimate, holds that amount in the wallet and records the job, or writes nothing.
/// Repeating the same request returns the job it made, with `created: false`.
#[utoipa::path(
    post, path = "/jobs", tag = "jobs", security(("api_key" = [])), request_body = SubmitBody,
    responses(
        (status = 202, description = "Accepted, or accepted before", body = SubmittedBody),
        (status = 401, description = "Key missing or wrong", body = ProblemBody, content_type = "application/problem+json"),
        (status = 402, description = "The wallet cannot cover the quote; nothing was written", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "Wallet or tenant frozen, or job blocked by policy", body = ProblemBody, content_type = "application/problem+json"),
        (status = 404, description = "No such wallet", body = ProblemBody, content_type = "application/problem+json"),
        (status = 422, description = "A value is not acceptable, or the client request id was used for another request", body = ProblemBody, content_type = "application/problem+json"),
        (status = 429, description = "Too many jobs unsettled, or too many requests", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn submit(
    State(api): State<Api>,
    caller: Caller,
    Strict(body): Strict<SubmitBody>,
) -> Result<(StatusCode, Json<SubmittedBody>), Problem> {
    let (tenant, livemode) = caller.scope();
    let wallet = body
        .wallet
        .parse()
        .map_err(|error| Problem::new(Kind::NotFound, format!("wallet: {error}")))?;
    let request = Request {
        tenant,
        livemode,
        wallet,
        user: name("user", &body.user)?,
        client_request_id: name("client_request_id", &body.client_request_id)?,
        model: name("model", &body.model)?,
        estimate: body.estimate.map(|estimate| estimate.usage()).transpose()?,
        source: body
            .source
            .map(|source| name("source", &source))
            .transpose()?,
        output_required: body.output_required,
    };
    let submission = api.engine.submit_job(&request).await?;
    let state = submission.job.state;
    let reason = submission.job.state_reason.clone();
    let job = JobBody::from(submission.job);
    if state == JobState::Blocked {
        let detail = reason.unwrap_or_else(|| "Local policy blocks the job.".to_owned());
        return Err(Problem::new(Kind::JobBlocked, detail)
            .with("job", job)
            .with("created", submission.created));
    }
    let body = SubmittedBody {
        job,
        created: submission.created,
        remaining_available: number(submission.remaining),
    };
    Ok((StatusCode::ACCEPTED, Json(body)))
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        let text = error.to_string();
        match error {
            SubmitError::UnknownWallet(_) => Self::new(Kind::NotFound, text),
            SubmitError::UnknownSource(_) => Self::new(Kind::Invalid, text),
            SubmitError::Frozen(_) => Self::new(Kind::WalletFrozen, text),
            SubmitError::TenantFrozen { tenant, .. } => {
                Self::new(Kind::WalletFrozen, text).with("tenant", tenant)
            }
            SubmitError::TooManyInFlight(limit) => {
                Self::new(Kind::TooManyInFlight, text).with("limit", limit)
            }
            SubmitError::UnknownModel { .. } => Self::new(Kind::UnknownModel, text),
            SubmitError::Estimate(cause) => Self::new(Kind::Invalid, format!("estimate: {cause}")),
            SubmitError::Short { quote, spendable } => {
                let missing = quote
                    .minus(spendable)
                    .map_or_else(|_| number(quote), number);
                Self::new(
                    Kind::InsufficientFunds,
                    format!("{text}: {missing} {} is missing", quote.currency()),
                )
                .with("quote", number(quote))
                .with("spendable", number(spendable))
                .with("missing", missing)
                .with("currency", quote.currency().code())
            }
            SubmitError::KeyReused(job) => Self::new(Kind::KeyReused, text).with("job_id", job),
            SubmitError::Store(error) => Self::storage(&error),
            SubmitError::Post(error) => Self::posting(&error),
            SubmitError::Raced | SubmitError::Canonical(_) => Self::internal(&error),
        }
    }
}

/// Read a job
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "jobs", security(("api_key" = [])),
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "The job", body = JobBody),
        (status = 404, description = "No such job of this tenant and mode", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn read(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<JobBody>, Problem> {
    let (tenant, livemode) = caller.scope();
    let id = job_id(&id)?;
    let mut conn = api
        .engine
        .pool()
        .acquire()
        .await
        .map_err(StoreError::from)?;
    let job = views::find(&mut conn, tenant, livemode, id).await?;
    let job = job.ok_or_else(|| {
        Problem::new(
            Kind::NotFound,
            format!("{id} is no job of this tenant and mode"),
        )
    })?;
    Ok(Json(job.into()))
}

/// Which jobs to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct ListQuery {
    /// Only those in this state.
    state: Option<String>,
    /// Only those this wallet pays.
    wallet: Option<String>,
    /// Only those older than this job: `next_before` of the page before.
    before: Option<String>,
    /// At most so many, from 1 to 200; 50 when left out.
    limit: Option<i64>,
}

/// List jobs, newest first
#[utoipa::path(
    get, path = "/jobs", tag = "jobs", security(("api_key" = [])), params(ListQuery),
    responses(
        (status = 200, description = "One page", body = JobPage),
        (status = 422, description = "A parameter is not acceptable", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(api): State<Api>,
    caller: Caller,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Json<JobPage>, Problem> {
    let Query(query) = query.map_err(|error| invalid(error.body_text()))?;
    let (tenant, livemode) = caller.scope();
    let limit = query.limit.unwrap_or(DEFAULT_PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        return Err(invalid(format!("limit: use 1 to {LARGEST_PAGE}")));
    }
    let filter = JobFilter {
        state: query
            .state
            .map(|word| word.parse())
            .transpose()
            .map_err(invalid)?,
        wallet: query
            .wallet
            .map(|id| id.parse())
            .transpose()
            .map_err(invalid)?,
        before: query
            .before
            .map(|id| id.parse())
            .transpose()
            .map_err(invalid)?,
        // One more than asked for tells whether there is a next page.
        limit: limit + 1,
    };
    // A list has a time limit: it must not hold the books up.
    let mut books = api.engine.snapshot().await?;
    let mut jobs = views::list(&mut books, tenant, livemode, &filter).await?;
    let shown = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = jobs.len() > shown;
    jobs.truncate(shown);
    let next_before = jobs.last().filter(|_| more).map(|job| job.id.to_string());
    let jobs = jobs.into_iter().map(JobBody::from).collect();
    Ok(Json(JobPage { jobs, next_before }))
}

fn invalid(error: impl std::fmt::Display) -> Problem {
    Problem::new(Kind::Invalid, error.to_string())
}

/// Cancel a job
///
/// A job that was never dispatched is released at once (200). Otherwise the request is on record and the
/// hold stays until the provider has spoken (202). Repeating it is safe.
#[utoipa::path(
    post, path = "/jobs/{id}/cancel", tag = "jobs", security(("api_key" = [])),
    params(("id" = String, Path, description = "The job's id")),
    responses(
        (status = 200, description = "Cancelled; the hold went back", body = JobBody),
        (status = 202, description = "Requested; waits for the provider's verdict", body = JobBody),
        (status = 404, description = "No such job of this tenant and mode", body = ProblemBody, content_type = "application/problem+json"),
        (status = 409, description = "There is a verdict already", body = ProblemBody, content_type = "application/problem+json"),
    )
)]
pub(super) async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<JobBody>), Problem> {
    let cancelled = api.engine.cancel_job(caller.scope(), job_id(&id)?).await?;
    let status = if cancelled.is_final {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok((status, Json(cancelled.job.into())))
}

impl From<CancelError> for Problem {
    fn from(error: CancelError) -> Self {
        let text = error.to_string();
        match error {
            CancelError::UnknownJob(_) => Self::new(Kind::NotFound, text),
            CancelError::TooLate(state) => {
                Self::new(Kind::StateConflict, text).with("state", state)
            }
            CancelError::Post(error) => Self::posting(&error),
            CancelError::Store(error) => Self::storage(&error),
        }
    }
}

/// A path that is no id names nothing.
pub(super) fn job_id(text: &str) -> Result<JobId, Problem> {
    text.parse()
        .map_err(|error| Problem::new(Kind::NotFound, format!("{error}")))
}
