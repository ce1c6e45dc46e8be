//! The customers' backends: what they ask of the Jobs API, with the patience of a careful client.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::sleep};

use super::Ledger;
use crate::demo::{
    cast::{MODELS, Sender},
    names,
    plan::Plan,
    wire::{Part, Purse},
};

/// How long a call is tried before the run is given up.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// Calls under way at once: backends have pools too.
const CALLS: usize = 12;

/// What became of a submission.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Submitted {
    /// There is a job of this id.
    Job(String),
    /// Funds were short.
    Refused,
}

/// What became of a cancel request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cancel {
    /// The job is cancelled, or past it.
    Done,
    /// The provider decides.
    Requested,
}

/// A client of the Jobs API with every customer's key.
pub(super) struct Backend {
    client: reqwest::Client,
    base_url: String,
    run: String,
    purses: Vec<Purse>,
    lines: Semaphore,
    tally: Arc<Ledger>,
}

impl Backend {
    pub(super) fn new(part: &Part, tally: Arc<Ledger>) -> Result<Self, reqwest::Error> {
        Ok(Self {
            client: reqwest::Client::builder().timeout(ANSWER_LIMIT).build()?,
            base_url: part.base_url.clone(),
            run: part.run.clone(),
            purses: part.purses.clone(),
            lines: Semaphore::new(CALLS),
            tally,
        })
    }

    /// Submits the job, or submits it again.
    pub(super) async fn submit(&self, plan: &Plan) -> Result<Submitted, String> {
        let mut body = json!({
            "wallet": self.purses[plan.wallet].wallet,
            "user": format!("user-{:02}", plan.user),
            "client_request_id": names::request(&self.run, plan.index),
            "model": MODELS[plan.model].name,
        });
        if let Some(estimate) = &plan.estimate {
            body["estimate"] = estimate
                .iter()
                .map(|(meter, quantity)| ((*meter).to_owned(), json!(quantity)))
                .collect();
        }
        let (status, answer) = self
            .call(plan, Method::POST, "/v1/jobs", Some(&body))
            .await?;
        match (status, answer["job"]["id"].as_str()) {
            (202 | 403, Some(job)) => Ok(Submitted::Job(job.to_owned())),
            (402, _) => Ok(Submitted::Refused),
            _ => Err(format!(
                "submission {} was answered {status}: {answer}",
                body["client_request_id"]
            )),
        }
    }

    /// Tells the provider's id of the job.
    pub(super) async fn attach(
        &self,
        plan: &Plan,
        job: &str,
        reference: &str,
    ) -> Result<(), String> {
        // The job does not know of test environments: its mode comes from its wallet.
        let source = if plan.live() {
            plan.sender
        } else {
            Sender::AcmeTest
        };
        let body = json!({ "source": source.slug(), "provider_reference": reference });
        let path = format!("/v1/jobs/{job}/provider-reference");
        match self.call(plan, Method::PUT, &path, Some(&body)).await? {
            (200..=299, _) => Ok(()),
            (status, answer) => Err(format!(
                "attaching {reference} to {job} was answered {status}: {answer}"
            )),
        }
    }

    /// Asks for the job to be cancelled.
    pub(super) async fn cancel(&self, plan: &Plan, job: &str) -> Result<Cancel, String> {
        let path = format!("/v1/jobs/{job}/cancel");
        match self.call(plan, Method::POST, &path, None).await? {
            (200 | 409, _) => Ok(Cancel::Done),
            (202, _) => Ok(Cancel::Requested),
            (status, answer) => Err(format!("cancelling {job} was answered {status}: {answer}")),
        }
    }

    /// Calls until there is an answer that is not the product being busy or away.
    async fn call(
        &self,
        plan: &Plan,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), String> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(100);
        loop {
            let url = format!("{}{path}", self.base_url);
            let mut request = self
                .client
                .request(method.clone(), url)
                .bearer_auth(&self.purses[plan.wallet].api_key);
            if let Some(body) = body {
                request = request.json(body);
            }
            let line = self.lines.acquire().await;
            let answered = answer(request).await;
            drop(line);
            let said = match answered {
                Ok((429 | 500..=599, answer)) => answer.to_string(),
                Ok(answered) => return Ok(answered),
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > PATIENCE {
                return Err(format!(
                    "{method} {path} had no useful answer in {PATIENCE:?}: {said}"
                ));
            }
            self.tally.count(|tally| tally.retried += 1);
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }
}

async fn answer(request: reqwest::RequestBuilder) -> Result<(u16, Value), reqwest::Error> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let body = response.bytes().await?;
    Ok((status, serde_json::from_slice(&body).unwrap_or(Value::Null)))
}
