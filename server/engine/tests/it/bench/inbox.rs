//! Jobs and events for stories about settling.

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    adapter::{Adapter, Incoming},
    id::{EventId, JobId, SourceId, WalletId},
    price::Price,
    usage::{Estimated, Usage},
};
use engine::{
    job::submit::Request,
    worker::{Settings, settle::Settler},
};
use serde_json::json;

use super::{Bench, currency, start};

/// What the bench's model costs: one dollar an image.
pub fn price() -> Price {
    let terms = json!({
        "components": [{ "meter": "images", "price": "1", "per": "1" }],
        "estimate": { "images": "1" },
    });
    Price {
        model: "studio/image".into(),
        currency: currency(),
        version: 1,
        terms: serde_json::from_value(terms).unwrap(),
    }
}

/// How a story's job differs from the usual one.
#[derive(Clone, Default)]
pub struct Order {
    pub reference: Option<&'static str>,
    pub output_required: bool,
    pub wallet: Option<WalletId>,
}

impl Bench {
    pub(super) async fn set_up_source_and_price(&self) {
        let price = price();
        sqlx::query(
            "INSERT INTO price_versions (model, currency, version, terms, effective_from, created_at, created_by)
             VALUES ($1, 'USD', 1, $2, $3, $3, 'test')",
        )
        .bind(&price.model)
        .bind(serde_json::to_value(&price.terms).unwrap())
        .bind(start())
        .execute(self.engine.pool())
        .await
        .unwrap();
        self.open_source(self.source, "acme", true).await;
    }

    pub async fn open_source(&self, source: SourceId, slug: &str, livemode: bool) {
        sqlx::query(
            "INSERT INTO sources (source_id, slug, name, adapter, scheme, livemode, created_at)
             VALUES ($1, $2, $2, 'generic', 'standard-webhooks-v1', $3, $4)",
        )
        .bind(source.0)
        .bind(slug)
        .bind(livemode)
        .bind(start())
        .execute(self.engine.pool())
        .await
        .unwrap();
    }

    /// Submits a job that reserves so many images.
    pub async fn submit(&self, images: u32) -> JobId {
        self.order(images, Order::default()).await
    }

    /// Submits a job as a product backend does.
    pub async fn order(&self, images: u32, order: Order) -> JobId {
        let usage = Usage::<Estimated>::parse([("images", images.to_string().as_str())]).unwrap();
        let request = Request {
            tenant: self.tenant,
            livemode: true,
            wallet: order.wallet.unwrap_or(self.wallet),
            user: "user".into(),
            client_request_id: self.engine.mint().to_string(),
            model: price().model,
            estimate: Some(usage),
            source: None,
            output_required: order.output_required,
        };
        let submission = self.engine.submit_job(&request).await.unwrap();
        let id = submission.job.id;
        if let Some(reference) = order.reference {
            let of = (self.tenant, true);
            self.engine
                .attach_job_reference(of, id, "acme", reference)
                .await
                .unwrap();
        }
        id
    }

    /// Puts an event of the bench's source into the inbox.
    pub async fn hear(&self, body: &serde_json::Value) -> EventId {
        self.hear_from(self.source, body).await
    }

    /// Puts an event into the inbox, as the receiver does.
    pub async fn hear_from(&self, source: SourceId, body: &serde_json::Value) -> EventId {
        let text = body.to_string();
        let incoming = Incoming {
            delivery_id: None,
            job_parameter: None,
            body: &text,
        };
        let envelope = Adapter::Generic.envelope(&incoming).unwrap();
        let id = sqlx::query_scalar(
            "WITH e AS (
                 INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                     job_hint, occurred_at, received_at, shard, state, due_at)
                 SELECT source_id, livemode, $2, $3, $3, $4, $5, $6, $7, $8, 0, 'received', $8 FROM sources WHERE source_id = $1
                 RETURNING event_id)
             INSERT INTO event_payloads (event_id, received_at, body, headers)
             SELECT event_id, $8, $9, '[]' FROM e RETURNING event_id",
        )
        .bind(source.0)
        .bind(&envelope.event_key)
        .bind(envelope.hash.0.as_slice())
        .bind(&envelope.kind)
        .bind(&envelope.provider_reference)
        .bind(envelope.job_hint.map(|job| job.0))
        .bind(envelope.occurred_at)
        .bind(self.now())
        .bind(text.as_bytes())
        .fetch_one(self.engine.pool())
        .await
        .unwrap();
        EventId(id)
    }

    /// A settling worker.
    pub fn settler(&self) -> Settler {
        Settler::new(
            self.engine.clone(),
            Settings {
                shards: 1,
                ..Settings::default()
            },
            0,
        )
    }

    /// Settles until nothing is due.
    pub async fn settle(&self) {
        let settler = self.settler();
        while settler.work().await.unwrap() > 0 {}
    }

    /// Moves the clock and settles what has become due.
    pub async fn settle_after(&self, wait: TimeDelta) {
        self.engine.clock().advance(wait);
        self.settle().await;
    }

    /// State and reason of an event, as in `ignored: already_settled`.
    pub async fn outcome(&self, event: EventId) -> String {
        let (state, reason): (String, Option<String>) =
            sqlx::query_as("SELECT state, reason FROM events WHERE event_id = $1")
                .bind(event.0)
                .fetch_one(&self.owner)
                .await
                .unwrap();
        reason.map_or(state.clone(), |reason| format!("{state}: {reason}"))
    }

    /// A job in one line: state, settlement state, held, captured, owed.
    pub async fn job(&self, job: JobId) -> String {
        sqlx::query_scalar(
            "SELECT concat_ws(' ', state, settlement_state, 'held', trim_scale(held), 'captured', trim_scale(captured),
                 'owed', trim_scale(receivable)) FROM jobs WHERE job_id = $1",
        )
        .bind(job.0)
        .fetch_one(&self.owner)
        .await
        .unwrap()
    }

    /// Settlements of a job in the order they were written, as `capture/1 3`.
    pub async fn settlements(&self, job: JobId) -> Vec<String> {
        sqlx::query_scalar(
            "SELECT phase || '/' || version || ' ' || trim_scale(amount) FROM settlements
             WHERE subject_id = $1 ORDER BY settlement_id",
        )
        .bind(job.0)
        .fetch_all(&self.owner)
        .await
        .unwrap()
    }
}

/// An instant of a story, in minutes after its start.
pub fn minute(minute: i64) -> DateTime<Utc> {
    start() + TimeDelta::minutes(minute)
}

fn event(id: &str, kind: &str, at: i64, data: serde_json::Value) -> serde_json::Value {
    json!({ "id": id, "type": kind, "occurred_at": minute(at).to_rfc3339(), "data": data })
}

/// The job succeeded with so many images, at this minute.
pub fn succeeded(id: &str, job: JobId, images: u32, at: i64) -> serde_json::Value {
    event(
        id,
        "job.succeeded",
        at,
        json!({ "job_id": job, "usage": { "images": images.to_string() } }),
    )
}

/// The same, naming the job by the provider's reference only.
pub fn succeeded_by_reference(
    id: &str,
    reference: &str,
    images: u32,
    at: i64,
) -> serde_json::Value {
    let data =
        json!({ "provider_reference": reference, "usage": { "images": images.to_string() } });
    event(id, "job.succeeded", at, data)
}

/// The job started.
pub fn started(id: &str, job: JobId, at: i64) -> serde_json::Value {
    event(id, "job.started", at, json!({ "job_id": job }))
}

/// The job failed.
pub fn failed(id: &str, job: JobId, at: i64) -> serde_json::Value {
    event(
        id,
        "job.failed",
        at,
        json!({ "job_id": job, "error": "out of memory" }),
    )
}

/// The provider corrects the usage of a job.
pub fn corrected(id: &str, job: JobId, images: u32, revision: i32, at: i64) -> serde_json::Value {
    let data =
        json!({ "job_id": job, "revision": revision, "usage": { "images": images.to_string() } });
    event(id, "job.usage_corrected", at, data)
}
