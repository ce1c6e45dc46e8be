//! Senders whose one key signs for all of their accounts.

use axum::http::StatusCode;
use domain::{
    adapter::Adapter,
    signature::{Message, Scheme, SigningKey, UnixSeconds, sign},
};
use engine::source::NewSource;
use sqlx::PgPool;

use super::{Letter, Mailroom, good_body};
use crate::house::start;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn another_account_of_the_sender_proves_nothing(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let key = SigningKey::from_seed(Scheme::FalEd25519, &[7; 32]).unwrap();
    let source = NewSource {
        account: Some("ours".into()),
        jwks: key.public_jwks(),
        ..NewSource::new("fal", Adapter::Generic, Scheme::FalEd25519)
    };
    room.engine.add_source(&source, "test").await.unwrap();
    room.keeper.refresh().await.unwrap();
    let from = |account: &str, id: &str| {
        let named = format!(r#"{{"request_id":"{id}","#);
        let body = good_body().replacen('{', &named, 1).into_bytes();
        let message = Message {
            id,
            timestamp: UnixSeconds(start().timestamp()),
            account,
            body: &body,
        };
        Letter {
            path: "/webhooks/fal".into(),
            headers: sign(&key, &message),
            body: body.clone(),
        }
    };
    let (status, _) = room.post(from("theirs", "r-1")).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert_eq!(room.rejected(1).await, [("other_account".into(), 401)]);
    assert_eq!(room.count("events").await, 0);
    assert_eq!(room.post(from("ours", "r-2")).await.0, StatusCode::OK);
}
