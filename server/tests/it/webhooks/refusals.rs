//! Every way of being wrong.

use sqlx::PgPool;

use super::{Letter, Mailroom, TOKEN, good_body, letter, signed_at};
use crate::house::start;

/// Everything that is wrong, with its answer and the reason that is recorded.
fn wrong() -> Vec<(Letter, u16, &'static str)> {
    let good = || letter("msg_1", good_body());
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let signature = |letter: &Letter| {
        letter
            .headers
            .iter()
            .find(|(name, _)| name == "webhook-signature")
            .unwrap()
            .1
            .clone()
    };
    let swapped = signature(&letter("msg_2", good_body()));
    vec![
        (good().to("/webhooks/nobody"), 401, "unknown_source"),
        (good().to("/webhooks/nobody/token"), 401, "unknown_source"),
        (good().to("/webhooks/keyless"), 401, "no_active_secret"),
        (good().without("webhook-signature"), 401, "missing_header"),
        (good().without("webhook-id"), 401, "missing_header"),
        (good().with("webhook-id", "msg_2"), 401, "duplicate_header"),
        (
            good()
                .without("webhook-timestamp")
                .with("webhook-timestamp", "soon"),
            401,
            "bad_header",
        ),
        (
            good()
                .without("webhook-signature")
                .with("webhook-signature", &swapped),
            401,
            "signature_mismatch",
        ),
        (
            good()
                .without("webhook-signature")
                .with("webhook-signature", "v9,AAAA"),
            401,
            "no_supported_version",
        ),
        (good().with_body("{}"), 401, "signature_mismatch"),
        (
            signed_at("msg_1", good_body(), start().timestamp() - 301),
            401,
            "timestamp_too_old",
        ),
        (
            signed_at("msg_1", good_body(), start().timestamp() + 301),
            401,
            "timestamp_too_new",
        ),
        (
            good().with("content-encoding", "gzip"),
            415,
            "content_encoding",
        ),
        (
            good()
                .to("/webhooks/nobody")
                .with("content-encoding", "gzip"),
            415,
            "content_encoding",
        ),
        (letter("msg_1", vec![b' '; 5000]), 413, "body_too_large"),
        (
            letter("msg_1", vec![b' '; 5000]).without("webhook-signature"),
            401,
            "missing_header",
        ),
        (
            letter("msg_1", vec![b' '; 5000]).to("/webhooks/nobody"),
            401,
            "unknown_source",
        ),
        (
            letter("msg_1", vec![b' '; (1 << 20) + 1]).to("/webhooks/nobody"),
            413,
            "body_too_large",
        ),
        (
            letter("msg_1", vec![b' '; (1 << 20) + 1]),
            413,
            "body_too_large",
        ),
        (letter("msg_1", ""), 400, "empty_body"),
        (letter("msg_1", "{"), 400, "invalid_json"),
        (letter("msg_1", deep), 400, "invalid_json"),
        (letter("msg_1", "\u{feff}{}"), 400, "invalid_json"),
        (letter("msg_1", vec![b'"', 0xff, b'"']), 400, "invalid_utf8"),
        (good().to("/webhooks/token"), 401, "missing_token"),
        (
            good().to("/webhooks/token/not-the-right-token"),
            401,
            "token_mismatch",
        ),
        (
            good()
                .to(&format!("/webhooks/token/{TOKEN}"))
                .without("webhook-id"),
            400,
            "no_event_key",
        ),
    ]
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_wrong_gets_its_answer_and_leaves_a_trace(pool: PgPool) {
    let room = Mailroom::open(pool).await;
    let cases = wrong();
    let mut unproven = Vec::new();
    for (letter, status, reason) in &cases {
        let (answered, body) = room.post(letter.clone()).await;
        assert_eq!(answered.as_u16(), *status, "{reason}");
        assert_eq!(body["status"], *status, "{reason}: problem+json");
        if *status == 401 {
            let mut body = body;
            body.as_object_mut().unwrap().remove("request_id");
            unproven.push(body);
        }
    }
    unproven.dedup();
    assert_eq!(
        unproven.len(),
        1,
        "unproven requests cannot be told apart: {unproven:?}"
    );
    let traces = room.rejected(cases.len()).await;
    let expected: Vec<_> = cases
        .iter()
        .map(|(_, status, reason)| (reason.to_string(), i16::try_from(*status).unwrap()))
        .collect();
    assert_eq!(traces, expected);
    assert_eq!(
        (
            room.count("events").await,
            room.count("event_payloads").await
        ),
        (0, 0)
    );
    let slugs: Vec<String> = sqlx::query_scalar("SELECT DISTINCT source_slug FROM deliveries")
        .fetch_all(&room.owner)
        .await
        .unwrap();
    assert!(
        slugs
            .iter()
            .all(|slug| !slug.contains("token-") && !slug.contains(TOKEN)),
        "no token is kept"
    );
}
