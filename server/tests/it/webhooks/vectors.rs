//! The shared vectors, sent through the whole receiver.

use axum::http::StatusCode;
use base64::Engine as _;
use chrono::TimeDelta;
use domain::{adapter::Adapter, signature::Scheme};
use engine::source::NewSource;
use serde_json::Value;
use sqlx::PgPool;

use super::{Letter, Mailroom, master};

/// A request of the shared vectors.
#[derive(serde::Deserialize)]
struct Vector {
    id: String,
    scheme: Scheme,
    secret: Option<String>,
    #[serde(default)]
    secrets: Vec<String>,
    jwks: Option<Value>,
    headers: Vec<(String, String)>,
    body_base64: String,
    now_unix: i64,
    expect: String,
    reason: Option<String>,
}

/// The receiver, not only the verifier, gives every vector its verdict.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_shared_vector_gets_its_verdict(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let text = include_str!("../../../domain/tests/vectors/signatures.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let vectors: Vec<Vector> = serde_json::from_value(file["vectors"].clone()).unwrap();
    assert!(vectors.len() >= 48);
    for (tried, vector) in vectors.into_iter().enumerate() {
        let slug = format!("v{tried}");
        let mut new = NewSource::new(&slug, Adapter::Generic, vector.scheme);
        new.jwks = vector.jwks.as_ref().map(Value::to_string);
        let user = |(name, _): &&(String, String)| {
            vector.scheme.names_account() && name.eq_ignore_ascii_case("x-fal-webhook-user-id")
        };
        let account = vector.headers.iter().find(user);
        new.account = account.map(|(_, account)| account.clone());
        if vector.scheme.names_account() && new.account.is_none() {
            new.account = Some("not in the request".into());
        }
        let secrets = vector.secret.iter().chain(&vector.secrets);
        room.engine.add_source(&new, "test").await.unwrap();
        for secret in secrets {
            room.engine
                .add_source_secret(&master(), &slug, secret, "test")
                .await
                .unwrap();
        }
        let behind = vector.now_unix - room.engine.clock().now().timestamp();
        room.engine.clock().advance(TimeDelta::seconds(behind));
        room.keeper.refresh().await.unwrap();
        let letter = Letter {
            path: format!("/webhooks/{slug}"),
            headers: vector.headers,
            body: base64::engine::general_purpose::STANDARD
                .decode(&vector.body_base64)
                .unwrap(),
        };
        let (status, answer) = room.post(letter).await;
        let reason = vector.reason.unwrap_or_default();
        // A good signature over a body without any id: proven, and nothing to store it under.
        let accepted =
            status == StatusCode::OK || answer["type"] == "/problems/webhook-unidentified";
        assert_eq!(
            accepted,
            vector.expect == "accept",
            "{}: {status} {reason}",
            vector.id
        );
    }
}
