//! Webhooks: every way of being wrong has its answer and leaves a trace, and what is right is stored
//! before it is answered.

mod accounts;
mod frozen;
mod refusals;
mod vectors;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use chrono::TimeDelta;
use domain::{
    adapter::Adapter,
    signature::{Message, Scheme, SigningKey, UnixSeconds, sign},
};
use engine::{
    Engine,
    clock::Clock,
    inbox::{InboxWriter, WriterSettings, WriterTasks},
    source::{MasterKey, NewSource, SourceKeeper},
};
use serde_json::{Value, json};
use server::http::{self, webhooks::Receiver};
use sqlx::PgPool;
use tower::ServiceExt as _;

use crate::house::start;

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TOKEN: &str = "a-long-enough-url-token";

/// A receiver over a fresh database, with a signing source and one that shows a token.
struct Mailroom {
    owner: PgPool,
    engine: Engine,
    keeper: SourceKeeper,
    routes: Router,
    _tasks: WriterTasks,
}

/// What a test changes of a good request.
#[derive(Clone)]
struct Letter {
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn master() -> MasterKey {
    MasterKey::from_hex(&"07".repeat(32)).unwrap()
}

fn good_body() -> String {
    json!({
        "type": "job.succeeded", "occurred_at": "2026-11-30T11:59:00Z",
        "data": { "provider_reference": "task-1", "usage": { "images": "2" } },
    })
    .to_string()
}

/// A letter signed as the source `signed` expects.
fn letter(id: &str, body: impl Into<Vec<u8>>) -> Letter {
    signed_at(id, body, start().timestamp())
}

fn signed_at(id: &str, body: impl Into<Vec<u8>>, at: i64) -> Letter {
    let body = body.into();
    let key = SigningKey::parse(Scheme::StandardWebhooksV1, SECRET).unwrap();
    let message = Message {
        id,
        timestamp: UnixSeconds(at),
        account: "",
        body: &body,
    };
    Letter {
        path: "/webhooks/signed".into(),
        headers: sign(&key, &message),
        body,
    }
}

impl Letter {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| found != name);
        self
    }

    fn to(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    fn with_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

impl Mailroom {
    async fn open(owner: PgPool) -> Self {
        let pool = engine::database::connect(&owner.connect_options(), 8)
            .await
            .unwrap();
        let engine = Engine::new(pool, Clock::manual(start()));
        let mut signed = NewSource::new("signed", Adapter::Generic, Scheme::StandardWebhooksV1);
        signed.body_limit_bytes = 4096;
        engine.add_source(&signed, "test").await.unwrap();
        engine
            .add_source_secret(&master(), "signed", SECRET, "test")
            .await
            .unwrap();
        let mut token = NewSource::new("token", Adapter::Replicate, Scheme::UrlToken);
        token.ack_status = 202;
        engine.add_source(&token, "test").await.unwrap();
        engine
            .add_source_secret(&master(), "token", TOKEN, "test")
            .await
            .unwrap();
        let keyless = NewSource::new("keyless", Adapter::Generic, Scheme::StandardWebhooksV1);
        engine.add_source(&keyless, "test").await.unwrap();
        let keeper = SourceKeeper::load(engine.clone(), master()).await.unwrap();
        let (inbox, tasks) =
            InboxWriter::start(engine.pool().clone(), WriterSettings::default(), |_| ());
        let receiver = Receiver::new(keeper.sources(), inbox, engine.clock().clone()).unwrap();
        Self {
            owner,
            engine,
            keeper,
            routes: http::layered(http::webhooks::routes(receiver)),
            _tasks: tasks,
        }
    }

    async fn post(&self, letter: Letter) -> (StatusCode, Value) {
        let mut request = Request::post(&letter.path).header("content-type", "application/json");
        for (name, value) in &letter.headers {
            request = request.header(name, value);
        }
        let response = self
            .routes
            .clone()
            .oneshot(request.body(Body::from(letter.body)).unwrap())
            .await
            .unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    async fn count(&self, table: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        sqlx::query_scalar(sql)
            .fetch_one(&self.owner)
            .await
            .unwrap()
    }

    /// Reasons of the rejected deliveries, oldest first, once there are this many.
    async fn rejected(&self, count: usize) -> Vec<(String, i16)> {
        loop {
            let mut rows = self.engine.rejected_deliveries(None, 200).await.unwrap();
            if rows.len() >= count {
                rows.reverse();
                return rows
                    .into_iter()
                    .map(|row| (row.reason.unwrap(), row.status))
                    .collect();
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_delivery_is_answered_with_what_was_stored(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let first = letter("msg_1", good_body()).with("authorization", "Bearer do-not-keep");
    let (status, body) = room.post(first.clone()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["status"], "accepted");
    let event = body["event"].as_str().unwrap().parse().unwrap();
    let detail = room.engine.event(event).await.unwrap().unwrap();
    assert_eq!(detail.event.event_key, "msg_1");
    let payload = detail.payload.unwrap();
    assert_eq!(payload.body, first.body);
    let names: Vec<_> = payload
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["content-type", "webhook-id", "webhook-timestamp"]);

    // A retry has a new timestamp and signature; the same event in other words is the same event.
    let (status, again) = room
        .post(signed_at("msg_1", good_body(), start().timestamp() + 9))
        .await;
    assert_eq!(
        (status, &again["status"]),
        (StatusCode::OK, &json!("duplicate"))
    );
    assert_eq!(again["event"], body["event"]);
    let content: Value = serde_json::from_str(&good_body()).unwrap();
    let rewritten = serde_json::to_string_pretty(&content).unwrap();
    assert_eq!(
        room.post(letter("msg_1", rewritten)).await.1["status"],
        "duplicate"
    );
    let other = good_body().replace(r#""2""#, r#""3""#);
    let (status, conflict) = room.post(letter("msg_1", other)).await;
    assert_eq!(
        (status, &conflict["status"]),
        (StatusCode::OK, &json!("conflict"))
    );
    assert_eq!(
        (room.count("events").await, room.count("conflicts").await),
        (1, 1)
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn one_event_delivered_a_hundred_times_over_twenty_connections_is_one_event(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let connections: Vec<_> = (0..20)
        .map(|_| {
            let routes = room.routes.clone();
            tokio::spawn(async move {
                for _ in 0..5 {
                    let letter = letter("msg_1", good_body());
                    let mut request = Request::post(&letter.path);
                    for (name, value) in &letter.headers {
                        request = request.header(name, value);
                    }
                    let request = request.body(Body::from(letter.body)).unwrap();
                    let answer = routes.clone().oneshot(request).await.unwrap();
                    assert_eq!(answer.status(), StatusCode::OK);
                }
            })
        })
        .collect();
    for connection in connections {
        connection.await.unwrap();
    }
    assert_eq!(
        (room.count("events").await, room.count("deliveries").await),
        (1, 100)
    );
}

/// A body that is JSON and makes no sense is ours to look at, not the sender's to send again.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn authentic_nonsense_is_kept_and_acknowledged(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    for (n, body) in [
        "[]",
        r#"{"type":"job.succeeded","type":"job.failed"}"#,
        r#"{"type":"invoice.paid"}"#,
    ]
    .iter()
    .enumerate()
    {
        let (status, answer) = room.post(letter(&format!("msg_{n}"), *body)).await;
        assert_eq!(
            (status, &answer["status"]),
            (StatusCode::OK, &json!("accepted"))
        );
    }
    let kinds: Vec<String> = sqlx::query_scalar("SELECT kind FROM events ORDER BY event_id")
        .fetch_all(&room.owner)
        .await
        .unwrap();
    assert_eq!(kinds, ["unreadable", "unreadable", "invoice.paid"]);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_sender_that_does_not_sign_is_known_by_its_token(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let job = "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6";
    let prediction = |status: &str| {
        Letter {
        path: format!("/webhooks/token/{TOKEN}?job={job}"),
        headers: Vec::new(),
        body: format!(r#"{{"id":"p1","status":"{status}","created_at":"2026-11-30T11:00:00Z","metrics":{{"predict_time":1.5}}}}"#).into(),
    }
    };
    let (status, answer) = room.post(prediction("processing")).await;
    assert_eq!(
        (status, &answer["status"]),
        (StatusCode::ACCEPTED, &json!("accepted"))
    );
    assert_eq!(
        room.post(prediction("processing")).await.1["status"],
        "duplicate"
    );
    assert_eq!(
        room.post(prediction("succeeded")).await.1["status"],
        "accepted"
    );
    let hints: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM events WHERE job_hint = '0190c5c2-a3b4-7c1e-8f00-d2a1b3c4d5e6'",
    )
    .fetch_one(&room.owner)
    .await
    .unwrap();
    assert_eq!(hints, 2);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn storage_that_is_down_is_ours_to_say(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    room.engine.pool().close().await;
    let (status, problem) = room.post(letter("msg_1", good_body())).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem["type"], "/problems/unavailable");
    assert_eq!(room.count("events").await, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_disabled_source_and_an_expired_secret_are_refused(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    assert_eq!(
        room.post(letter("msg_1", good_body())).await.0,
        StatusCode::OK
    );
    room.engine.disable_source("signed", "test").await.unwrap();
    room.keeper.refresh().await.unwrap();
    assert_eq!(
        room.post(letter("msg_2", good_body())).await.0,
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(room.rejected(1).await, [("source_disabled".into(), 401)]);
    let token = room.engine.source("token").await.unwrap();
    let secret = room.engine.source_secrets(token.id).await.unwrap()[0].id;
    let now = room.engine.clock().now();
    room.engine
        .expire_source_secret("token", secret, now, "test")
        .await
        .unwrap();
    room.engine.clock().advance(TimeDelta::seconds(1));
    room.keeper.refresh().await.unwrap();
    let letter = letter("msg_3", r#"{"id":"p","status":"starting"}"#)
        .to(&format!("/webhooks/token/{TOKEN}"));
    assert_eq!(room.post(letter).await.0, StatusCode::UNAUTHORIZED);
}
