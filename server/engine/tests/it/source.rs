//! Sources: secrets are sealed at rest, rotate without a gap, and never leave the registry stale.

use chrono::TimeDelta;
use domain::{
    adapter::Adapter,
    signature::{
        KeyError, Message, Request, Scheme, SigningKey, Tolerance, UnixSeconds, sign, verify,
    },
};
use engine::source::{ActiveSource, MasterKey, NewSource, SourceError, SourceKeeper, SourcesError};
use sqlx::PgPool;

use crate::bench::Bench;

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

fn master() -> MasterKey {
    MasterKey::from_hex(&"07".repeat(32)).unwrap()
}

fn standard() -> NewSource {
    NewSource::new("sender", Adapter::Generic, Scheme::StandardWebhooksV1)
}

/// Whether the source takes a request signed with this secret.
fn takes(source: &ActiveSource, secret: &str) -> bool {
    let Some(keys) = &source.keys else {
        return false;
    };
    let key = SigningKey::parse(source.scheme, secret).unwrap();
    let timestamp = UnixSeconds(1_790_000_000);
    let body = b"{}";
    let signed = sign(
        &key,
        &Message {
            id: "msg_1",
            timestamp,
            account: "",
            body,
        },
    );
    let headers: Vec<_> = signed
        .iter()
        .map(|(name, value)| (name.as_ref(), value.as_bytes()))
        .collect();
    let request = Request {
        headers: &headers,
        body,
        token: None,
    };
    verify(keys, &request, timestamp, Tolerance::of(source.scheme)).is_ok()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn secrets_rotate_with_an_overlap(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let engine = &bench.engine;
    engine.add_source(&standard(), "test").await.unwrap();
    let sources = SourceKeeper::load(engine.clone(), master()).await.unwrap();
    assert!(sources.sources().find("sender").unwrap().keys.is_none());
    assert!(sources.sources().find("other").is_none());

    let old = engine
        .add_source_secret(&master(), "sender", OLD, "test")
        .await
        .unwrap();
    engine
        .add_source_secret(&master(), "sender", NEW, "test")
        .await
        .unwrap();
    sources.refresh().await.unwrap();
    let source = sources.sources().find("sender").unwrap();
    assert!(takes(&source, OLD) && takes(&source, NEW));

    let end = bench.now() + TimeDelta::hours(1);
    engine
        .expire_source_secret("sender", old, end, "test")
        .await
        .unwrap();
    sources.refresh().await.unwrap();
    assert!(
        takes(&sources.sources().find("sender").unwrap(), OLD),
        "until its hour is over"
    );
    engine.clock().advance(TimeDelta::hours(1));
    sources.refresh().await.unwrap();
    let source = sources.sources().find("sender").unwrap();
    assert!(!takes(&source, OLD) && takes(&source, NEW));
    let gone = engine
        .expire_source_secret("sender", old, bench.now(), "test")
        .await;
    assert!(matches!(gone, Err(SourceError::UnknownSecret { .. })));

    engine.disable_source("sender", "test").await.unwrap();
    sources.refresh().await.unwrap();
    assert!(sources.sources().find("sender").unwrap().disabled);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn secrets_are_not_readable_in_the_database(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.engine.add_source(&standard(), "test").await.unwrap();
    bench
        .engine
        .add_source_secret(&master(), "sender", OLD, "test")
        .await
        .unwrap();
    let rows: Vec<String> =
        sqlx::query_scalar("SELECT encode(ciphertext, 'escape') || s::text FROM source_secrets s")
            .fetch_all(&bench.owner)
            .await
            .unwrap();
    assert_eq!(rows.len(), 1);
    assert!(!rows[0].contains("whsec_") && !rows[0].contains("MfKQ9r8GKYqr"));

    let other = MasterKey::from_hex(&"08".repeat(32)).unwrap();
    let refused = SourceKeeper::load(bench.engine.clone(), other)
        .await
        .unwrap_err();
    assert!(matches!(refused, SourcesError::Vault { .. }));
}

/// A row moved to another source must not open there, or who can write the table can choose its keys.
#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_secret_moved_to_another_source_does_not_open(pool: PgPool) {
    let bench = Bench::new(pool).await;
    bench.engine.add_source(&standard(), "test").await.unwrap();
    let mut other = standard();
    other.slug = "other".into();
    let other = bench.engine.add_source(&other, "test").await.unwrap();
    bench
        .engine
        .add_source_secret(&master(), "sender", OLD, "test")
        .await
        .unwrap();
    sqlx::query("UPDATE source_secrets SET source_id = $1")
        .bind(other.0)
        .execute(&bench.owner)
        .await
        .unwrap();
    assert!(
        SourceKeeper::load(bench.engine.clone(), master())
            .await
            .is_err()
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_secret_that_does_not_open_harms_no_other_source(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let engine = &bench.engine;
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    for slug in ["broken", "whole"] {
        let new = NewSource::new(slug, Adapter::Generic, Scheme::StandardWebhooksV1);
        engine.add_source(&new, "test").await.unwrap();
        engine
            .add_source_secret(&master(), slug, secret, "test")
            .await
            .unwrap();
    }
    let sources = SourceKeeper::load(engine.clone(), master()).await.unwrap();
    sqlx::query(
        "UPDATE source_secrets SET nonce = decode(repeat('00', 24), 'hex')
         WHERE source_id = (SELECT source_id FROM sources WHERE slug = 'broken')",
    )
    .execute(&bench.owner)
    .await
    .unwrap();
    engine.disable_source("acme", "test").await.unwrap();
    sources.refresh().await.unwrap();
    let known = sources.sources();
    assert!(known.find("acme").unwrap().disabled, "the rest is fresh");
    assert!(known.find("whole").unwrap().keys.is_some());
    assert!(known.find("broken").unwrap().keys.is_none());
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn wrong_settings_are_refused_when_they_are_given(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let engine = &bench.engine;
    engine.add_source(&standard(), "test").await.unwrap();
    assert!(matches!(
        engine.add_source(&standard(), "test").await,
        Err(SourceError::SlugTaken(_))
    ));
    let add = async |change: fn(&mut NewSource)| {
        let mut new = standard();
        new.slug = "new".into();
        change(&mut new);
        engine.add_source(&new, "test").await.unwrap_err()
    };
    assert!(matches!(
        add(|new| new.slug = "New One".into()).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.ack_status = 204).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.body_limit_bytes = 1).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.header_name = Some("x-token".into())).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.scheme = Scheme::StaticHeader).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.account = Some("us".into())).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.scheme = Scheme::FalEd25519).await,
        SourceError::Invalid(_)
    ));
    assert!(matches!(
        add(|new| new.jwks = Some("{}".into())).await,
        SourceError::Key(KeyError::NoJwks(_))
    ));

    let secret = engine
        .add_source_secret(&master(), "sender", "whsec_c2hvcnQ=", "test")
        .await;
    assert!(matches!(
        secret,
        Err(SourceError::Key(KeyError::TooShort { .. }))
    ));
    let nowhere = engine
        .add_source_secret(&master(), "nowhere", OLD, "test")
        .await;
    assert!(matches!(nowhere, Err(SourceError::Unknown(_))));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_static_header_may_be_given_by_its_value(pool: PgPool) {
    let bench = Bench::new(pool).await;
    let mut new = NewSource::new("plain", Adapter::Generic, Scheme::StaticHeader);
    new.header_name = Some("X-Webhook-Token".into());
    bench.engine.add_source(&new, "test").await.unwrap();
    bench
        .engine
        .add_source_secret(&master(), "plain", "correct-horse-battery", "test")
        .await
        .unwrap();
    bench
        .engine
        .add_source_secret(
            &master(),
            "plain",
            "x-webhook-token: another-long-value",
            "test",
        )
        .await
        .unwrap();
    let sources = SourceKeeper::load(bench.engine.clone(), master())
        .await
        .unwrap();
    let source = sources.sources().find("plain").unwrap();
    assert!(takes(&source, "X-Webhook-Token: correct-horse-battery"));
    assert!(takes(&source, "x-webhook-token: another-long-value"));
    assert!(!takes(&source, "x-webhook-token: a-wrong-long-value"));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn key_sets_are_fetched_when_due_and_a_bad_one_changes_nothing(pool: PgPool) {
    const JWKS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let bench = Bench::new(pool).await;
    let engine = &bench.engine;
    let mut new = NewSource::new("fal", Adapter::Generic, Scheme::FalEd25519);
    new.account = Some("drill".into());
    new.jwks_url = Some("https://rest.fal.test/.well-known/jwks.json".into());
    engine.add_source(&new, "test").await.unwrap();
    let sources = SourceKeeper::load(engine.clone(), master()).await.unwrap();
    let due = sources.jwks_due().await.unwrap();
    assert_eq!(due.len(), 1);
    engine.keep_fetched_jwks(&due[0], JWKS).await.unwrap();
    sources.refresh().await.unwrap();
    assert!(sources.sources().find("fal").unwrap().keys.is_some());
    assert!(sources.jwks_due().await.unwrap().is_empty());

    // A request no key matched asks for a fetch, but not within a minute of the last.
    sources.sources().find("fal").unwrap().no_key_matched();
    assert!(sources.jwks_due().await.unwrap().is_empty());
    engine.clock().advance(TimeDelta::seconds(61));
    sources.refresh().await.unwrap();
    assert_eq!(sources.jwks_due().await.unwrap().len(), 1);
    assert!(sources.jwks_due().await.unwrap().is_empty(), "asked once");
    engine.clock().advance(TimeDelta::hours(24));
    assert_eq!(sources.jwks_due().await.unwrap().len(), 1);

    assert!(
        engine
            .keep_fetched_jwks(&due[0], r#"{"keys":[]}"#)
            .await
            .is_err()
    );
    sources.refresh().await.unwrap();
    assert!(
        sources.sources().find("fal").unwrap().keys.is_some(),
        "the old set stays"
    );
}
