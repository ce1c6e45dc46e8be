//! The outside world of a drill: a backend that submits and a provider that delivers.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use chrono::SecondsFormat;
use domain::signature::{Message, Scheme, SigningKey, UnixSeconds, sign};
use engine::clock::Clock;
use futures::{StreamExt as _, future::join_all, stream};
use serde_json::{Value, json};

use super::ground::{Ground, LIMIT, Process, SECRET};

/// What every job uses: three images at half a dollar.
const CHARGE: &str = "1.50";

impl Process {
    /// Submits jobs and returns their ids.
    pub(super) async fn submit(&self, ground: &Ground, numbers: Range<usize>) -> Vec<String> {
        stream::iter(numbers)
            .map(async |number| {
                let body = json!({
                    "wallet": ground.wallet, "user": "drill", "model": "imagine",
                    "client_request_id": format!("drill-{number}"),
                });
                let request = self
                    .client
                    .post(format!("{}/v1/jobs", self.base_url))
                    .bearer_auth(&ground.api_key);
                let response = request.json(&body).send().await.unwrap();
                let (status, answer) = (
                    response.status().as_u16(),
                    response.json::<Value>().await.unwrap(),
                );
                assert_eq!(status, 202, "{answer}");
                answer["job"]["id"].as_str().unwrap().to_owned()
            })
            .buffered(8)
            .collect()
            .await
    }

    /// Delivers the completion of each job, once.
    pub(super) async fn complete(&self, jobs: &[String]) {
        let answers = join_all(jobs.iter().map(|job| self.deliver(job))).await;
        assert!(
            answers.iter().all(|answer| *answer == Some(200)),
            "{answers:?}"
        );
    }

    /// Delivers the completion of each job until it is acknowledged.
    pub(super) async fn complete_with_patience(&self, jobs: &[String]) {
        let begun = Instant::now();
        stream::iter(jobs)
            .for_each_concurrent(6, async |job| {
                while self.deliver(job).await != Some(200) {
                    assert!(begun.elapsed() < LIMIT, "{job} was never acknowledged");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                // Spreads the load over the time the damage takes.
                tokio::time::sleep(Duration::from_millis(60)).await;
            })
            .await;
    }

    /// The longest that any of these completions took to be acknowledged.
    pub(super) async fn slowest_acceptance(&self, jobs: &[String]) -> Duration {
        let mut slowest = Duration::ZERO;
        for job in jobs {
            let begun = Instant::now();
            self.complete(std::slice::from_ref(job)).await;
            slowest = slowest.max(begun.elapsed());
        }
        slowest
    }

    /// The longest that a source took to refuse a request that no key of its can have signed.
    pub(super) async fn slowest_refusal(&self, slug: &str, times: usize) -> Duration {
        let key = SigningKey::from_seed(Scheme::FalEd25519, &[7; 32]).unwrap();
        let mut slowest = Duration::ZERO;
        for number in 0..times {
            let (id, body) = (format!("hung-{number}"), b"{}".as_slice());
            let timestamp = UnixSeconds(Clock::system().now().timestamp());
            let mut request = self
                .client
                .post(format!("{}/webhooks/{slug}", self.base_url))
                .body(body);
            for (name, value) in sign(
                &key,
                &Message {
                    id: &id,
                    timestamp,
                    account: "drill",
                    body,
                },
            ) {
                request = request.header(name, value);
            }
            let begun = Instant::now();
            assert_eq!(request.send().await.unwrap().status().as_u16(), 401);
            slowest = slowest.max(begun.elapsed());
        }
        slowest
    }

    async fn deliver(&self, job: &str) -> Option<u16> {
        let key = SigningKey::parse(Scheme::StandardWebhooksV1, SECRET).unwrap();
        let now = Clock::system().now();
        // A retry says the same thing happened at the same time.
        let at = chrono::DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000);
        let body = json!({
            "type": "job.succeeded",
            "occurred_at": at.to_rfc3339_opts(SecondsFormat::Millis, true),
            "data": { "job_id": job, "usage": { "images": "3" } },
        });
        let body = serde_json::to_vec(&body).unwrap();
        let (id, timestamp) = (format!("msg_{job}"), UnixSeconds(now.timestamp()));
        let mut request = self
            .client
            .post(format!("{}/webhooks/drill", self.base_url));
        for (name, value) in sign(
            &key,
            &Message {
                id: &id,
                timestamp,
                account: "",
                body: &body,
            },
        ) {
            request = request.header(name, value);
        }
        let answer = request
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await;
        answer.ok().map(|answer| answer.status().as_u16())
    }

    /// How many of these jobs are charged; none may be charged anything but its price.
    pub(super) async fn charged(&self, ground: &Ground, jobs: &[String]) -> usize {
        let read = jobs.iter().map(async |job| {
            let request = self
                .client
                .get(format!("{}/v1/jobs/{job}", self.base_url))
                .bearer_auth(&ground.api_key);
            let job: Value = request.send().await.ok()?.json().await.ok()?;
            let captured = job["captured"].as_str()?.to_owned();
            (job["state"] == "completed").then_some(captured)
        });
        let captured: Vec<String> = join_all(read).await.into_iter().flatten().collect();
        assert!(
            captured.iter().all(|amount| amount == CHARGE),
            "{captured:?}"
        );
        captured.len()
    }

    /// Waits until every one of these jobs is charged.
    pub(super) async fn until_charged(&self, ground: &Ground, jobs: &[String]) {
        let begun = Instant::now();
        loop {
            let charged = self.charged(ground, jobs).await;
            if charged == jobs.len() {
                return;
            }
            assert!(
                begun.elapsed() < LIMIT,
                "{charged} of {} jobs are charged",
                jobs.len()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
