//! Input that is no request: each gets its documented answer, and no money moves.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use serde_json::json;
use sqlx::PgPool;

use crate::house::House;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_body_that_is_no_job_is_refused_with_what_to_do(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let job = |change: fn(&mut serde_json::Value)| {
        let mut body = house.job("r1", "1");
        change(&mut body);
        body.to_string()
    };
    let deep = format!("{}{}", "[".repeat(2000), "]".repeat(2000));
    let twice = job(|_| {}).replace(r#"{"images":"1"}"#, r#"{"images":"1","images":"2"}"#);
    let cases = [
        ("not JSON", "{".to_owned(), "400 malformed"),
        ("empty", String::new(), "400 malformed"),
        ("deeply nested", deep, "400 malformed"),
        ("an array", "[]".to_owned(), "422 invalid"),
        ("a missing member", "{}".to_owned(), "422 invalid"),
        (
            "an unknown member",
            job(|body| body["surprise"] = json!(1)),
            "422 invalid",
        ),
        (
            "a float",
            job(|body| body["estimate"]["images"] = json!(1.5)),
            "422 invalid",
        ),
        (
            "an integer",
            job(|body| body["estimate"]["images"] = json!(1)),
            "422 invalid",
        ),
        (
            "a negative quantity",
            job(|body| body["estimate"]["images"] = json!("-1")),
            "422 invalid",
        ),
        (
            "not a number",
            job(|body| body["estimate"]["images"] = json!("NaN")),
            "422 invalid",
        ),
        (
            "an overflowing quantity",
            job(|body| body["estimate"]["images"] = json!("9".repeat(40))),
            "422 invalid",
        ),
        (
            "an amount beyond the ledger",
            job(|body| body["estimate"]["images"] = json!("9".repeat(18))),
            "422 invalid",
        ),
        ("a meter twice", twice, "422 invalid"),
        (
            "no meter",
            job(|body| body["estimate"] = json!({})),
            "422 invalid",
        ),
        (
            "an unpriced meter",
            job(|body| body["estimate"] = json!({ "seconds": "1" })),
            "422 invalid",
        ),
        (
            "an unknown model",
            job(|body| body["model"] = json!("nope")),
            "422 unknown-model",
        ),
        (
            "an unknown source",
            job(|body| body["source"] = json!("nope")),
            "422 invalid",
        ),
        (
            "an empty user",
            job(|body| body["user"] = json!(" ")),
            "422 invalid",
        ),
        (
            "a NUL",
            job(|body| body["user"] = json!("a\u{0}b")),
            "422 invalid",
        ),
        (
            "a long id",
            job(|body| body["client_request_id"] = json!("x".repeat(201))),
            "422 invalid",
        ),
        (
            "no wallet id",
            job(|body| body["wallet"] = json!("wallet_1")),
            "404 not-found",
        ),
        (
            "too large",
            format!(r#"{{"user":"{}"}}"#, "x".repeat(70_000)),
            "413 too-large",
        ),
    ];
    for (what, body, expected) in cases {
        let answer = house
            .call_with(&house.key, Method::POST, "/v1/jobs", Some(body))
            .await;
        assert_eq!(answer.outcome(), expected, "{what}: {}", answer.text);
        assert_eq!(
            answer.header("content-type"),
            "application/problem+json",
            "{what}"
        );
        for member in ["title", "detail", "next_step", "request_id"] {
            assert!(answer.json[member].is_string(), "{what}: {member}");
        }
    }
    let float = job(|body| body["estimate"]["images"] = json!(1.5));
    let answer = house
        .call_with(&house.key, Method::POST, "/v1/jobs", Some(float))
        .await;
    assert!(
        answer.json["detail"]
            .as_str()
            .unwrap()
            .contains("sent as a string"),
        "{}",
        answer.text
    );
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 0);
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE subject_kind = 'job'")
            .await,
        0
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_body_that_is_not_plain_json_is_refused_before_it_is_read(owner: PgPool) {
    let house = House::new(owner).await;
    let send = async |headers: &[(&str, &str)], body: Vec<u8>| {
        let mut request = Request::post("/v1/jobs")
            .header(header::AUTHORIZATION, format!("Bearer {}", house.key));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        house
            .send(request.body(Body::from(body)).unwrap())
            .await
            .outcome()
    };
    let json = ("content-type", "application/json");
    assert_eq!(send(&[], b"{}".to_vec()).await, "415 unsupported-media");
    assert_eq!(
        send(&[("content-type", "text/plain")], b"{}".to_vec()).await,
        "415 unsupported-media"
    );
    assert_eq!(
        send(&[json, ("content-encoding", "gzip")], b"{}".to_vec()).await,
        "415 unsupported-media"
    );
    assert_eq!(send(&[json], vec![b'"', 0xFF, b'"']).await, "400 malformed");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_key_opens_its_own_tenant_and_mode_only(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let job = house.submitted("r1", "1").await;
    let (_, other_wallet, other_key) = House::tenant(&house.engine, "Other").await;

    let read = format!("/v1/jobs/{job}");
    let wallet = format!("/v1/wallets/{}", house.wallet);
    for path in [&read, &wallet] {
        assert_eq!(
            house
                .call_with(&other_key, Method::GET, path, None)
                .await
                .outcome(),
            "404 not-found"
        );
        assert_eq!(house.call(Method::GET, path, None).await.outcome(), "200");
    }
    let cancel = house
        .call_with(&other_key, Method::POST, &format!("{read}/cancel"), None)
        .await;
    assert_eq!(cancel.outcome(), "404 not-found");
    let mut body = house.job("r2", "1");
    body["wallet"] = json!(other_wallet);
    assert_eq!(
        house
            .call(Method::POST, "/v1/jobs", Some(body))
            .await
            .outcome(),
        "404 not-found"
    );
    assert_eq!(
        house
            .call_with(&other_key, Method::GET, "/v1/jobs", None)
            .await
            .json["jobs"],
        json!([])
    );

    let mut conn = house.engine.pool().acquire().await.unwrap();
    let live = engine::api_key::mint(&mut conn, &house.engine, house.tenant, "live", true)
        .await
        .unwrap()
        .to_string();
    drop(conn);
    assert_eq!(
        house
            .call_with(&live, Method::GET, &read, None)
            .await
            .outcome(),
        "404 not-found"
    );
    assert_eq!(
        house
            .call_with(&live, Method::GET, "/v1/wallets", None)
            .await
            .json["wallets"],
        json!([])
    );
    let spend = house
        .call_with(
            &live,
            Method::POST,
            "/v1/jobs",
            Some(house.job("r3", "1").to_string()),
        )
        .await;
    assert_eq!(
        spend.outcome(),
        "404 not-found",
        "a live key cannot spend a test wallet"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_key_that_is_missing_wrong_or_revoked_opens_nothing(owner: PgPool) {
    let house = House::new(owner).await;
    let mut forged = house.key.clone();
    let last = forged.pop().unwrap();
    forged.push(if last == 'A' { 'E' } else { 'A' });
    let as_live = house.key.replace("qk_test_", "qk_live_");
    for key in [
        forged.as_str(),
        as_live.as_str(),
        "",
        "qk_test_",
        "nonsense",
    ] {
        let answer = house.call_with(key, Method::GET, "/v1/wallets", None).await;
        assert_eq!(answer.outcome(), "401 unauthorized", "{key}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let bare = Request::get("/v1/wallets").body(Body::empty()).unwrap();
    assert_eq!(house.send(bare).await.outcome(), "401 unauthorized");
    let twice = Request::get("/v1/wallets")
        .header(header::AUTHORIZATION, format!("Bearer {}", house.key))
        .header(header::AUTHORIZATION, format!("Bearer {}", house.key));
    assert_eq!(
        house
            .send(twice.body(Body::empty()).unwrap())
            .await
            .outcome(),
        "401 unauthorized"
    );

    assert_eq!(
        house.call(Method::GET, "/v1/wallets", None).await.outcome(),
        "200"
    );
    sqlx::query("UPDATE api_keys SET revoked_at = created_at")
        .execute(&house.owner)
        .await
        .unwrap();
    assert_eq!(
        house.call(Method::GET, "/v1/wallets", None).await.outcome(),
        "401 unauthorized"
    );
    let stored: Vec<u8> = sqlx::query_scalar("SELECT secret_hash FROM api_keys")
        .fetch_one(&house.owner)
        .await
        .unwrap();
    assert!(
        !house
            .key
            .as_bytes()
            .windows(32)
            .any(|part| part == stored.as_slice())
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn paths_and_methods_that_do_not_exist_are_problems_too(owner: PgPool) {
    let house = House::new(owner).await;
    assert_eq!(
        house.call(Method::GET, "/v1/nothing", None).await.outcome(),
        "404 not-found"
    );
    assert_eq!(
        house.call(Method::DELETE, "/v1/jobs", None).await.outcome(),
        "405 method-not-allowed"
    );
    assert_eq!(
        house
            .call(Method::GET, "/v1/jobs/job_1", None)
            .await
            .outcome(),
        "404 not-found"
    );
    let explained = house
        .call(Method::GET, "/problems/insufficient-funds", None)
        .await;
    assert!(explained.text.contains("Add credit"));
}

#[test]
fn the_description_has_every_route_and_only_strings_for_money() {
    let text = server::http::api::description().to_json().unwrap();
    let api: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(api["openapi"], "3.1.0");
    let mut paths: Vec<_> = api["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "/v1/jobs",
            "/v1/jobs/{id}",
            "/v1/jobs/{id}/cancel",
            "/v1/jobs/{id}/output",
            "/v1/jobs/{id}/provider-reference",
            "/v1/wallets",
            "/v1/wallets/{id}",
        ]
    );
    assert!(!text.contains(r#""type":"number""#));
}
