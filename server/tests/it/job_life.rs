//! What happens to a job after it was submitted, as far as its tenant's backend has a say.

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::json;
use sqlx::PgPool;

use crate::house::House;

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn cancelling_before_dispatch_returns_the_hold_at_once(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let id = house.submitted("r1", "4").await;
    for _ in 0..2 {
        let answer = house
            .call(Method::POST, &format!("/v1/jobs/{id}/cancel"), None)
            .await;
        assert_eq!(answer.outcome(), "200");
        assert_eq!(answer.json["state"], "cancelled");
        assert_eq!(answer.json["settlement_state"], "released");
    }
    assert_snapshot!(house.ledger().await, @r"
    grant/1 grant funding→available 100 (-, 100)
    reserve/1 hold available→held 0.16 (99.84, 0.16)
    release/1 release held→available 0.16 (0, 100)
    ");
    assert_eq!(house.count("SELECT count(*) FROM job_transitions").await, 2);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn cancelling_after_dispatch_is_a_request_and_keeps_the_hold(owner: PgPool) {
    let house = House::new(owner).await;
    house.source("gateway").await;
    house.grant("100", None).await;
    let id = house.submitted("r1", "4").await;
    let reference = json!({ "source": "gateway", "provider_reference": "abc" });
    let attach = format!("/v1/jobs/{id}/provider-reference");
    assert_eq!(
        house
            .call(Method::PUT, &attach, Some(reference))
            .await
            .outcome(),
        "200"
    );
    for _ in 0..2 {
        let answer = house
            .call(Method::POST, &format!("/v1/jobs/{id}/cancel"), None)
            .await;
        assert_eq!(answer.outcome(), "202");
        assert_eq!(answer.json["state"], "pending");
        assert_eq!(answer.json["held"], "0.16");
        assert_eq!(answer.json["cancel_requested_at"], "2026-11-30T12:00:00Z");
    }
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE phase = 'release'")
            .await,
        0
    );
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_provider_reference_is_set_once(owner: PgPool) {
    let house = House::new(owner).await;
    house.source("gateway").await;
    house.source("other").await;
    house.grant("100", None).await;
    let (first, second) = (
        house.submitted("r1", "1").await,
        house.submitted("r2", "1").await,
    );
    let attach = async |id: &str, source: &str, reference: &str| {
        let body = json!({ "source": source, "provider_reference": reference });
        house
            .call(
                Method::PUT,
                &format!("/v1/jobs/{id}/provider-reference"),
                Some(body),
            )
            .await
            .outcome()
    };
    assert_eq!(attach(&first, "gateway", "abc").await, "200");
    assert_eq!(
        attach(&first, "gateway", "abc").await,
        "200",
        "the same again changes nothing"
    );
    assert_eq!(attach(&first, "gateway", "xyz").await, "409 state-conflict");
    assert_eq!(attach(&first, "other", "abc").await, "409 state-conflict");
    assert_eq!(
        attach(&second, "gateway", "abc").await,
        "409 state-conflict",
        "another job has it"
    );
    assert_eq!(attach(&second, "nowhere", "def").await, "422 invalid");
    assert_eq!(
        attach("job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6", "gateway", "def").await,
        "404 not-found"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn attaching_a_reference_wakes_the_events_that_waited_for_it(owner: PgPool) {
    let house = House::new(owner).await;
    house.source("gateway").await;
    house.grant("100", None).await;
    let id = house.submitted("r1", "1").await;
    for (key, reference) in [("e1", "abc"), ("e2", "xyz")] {
        sqlx::query(
            "INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                                 received_at, shard, state, reason, due_at)
             SELECT source_id, false, $1, sha256('a'), sha256('a'), 'job.succeeded', $2, created_at, 0, 'waiting',
                    'job_unknown', created_at + interval '1 hour' FROM sources",
        )
        .bind(key)
        .bind(reference)
        .execute(&house.owner)
        .await
        .unwrap();
    }
    let body = json!({ "source": "gateway", "provider_reference": "abc" });
    house
        .call(
            Method::PUT,
            &format!("/v1/jobs/{id}/provider-reference"),
            Some(body),
        )
        .await;
    let due: Vec<String> =
        sqlx::query_scalar("SELECT event_key FROM events WHERE due_at = '2026-11-30T12:00:00Z'")
            .fetch_all(&house.owner)
            .await
            .unwrap();
    assert_eq!(due, ["e1"]);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_stored_output_completes_a_job_that_delivers(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let mut body = house.job("r1", "1");
    body["output_required"] = json!(true);
    let answer = house.call(Method::POST, "/v1/jobs", Some(body)).await;
    let id = answer.json["job"]["id"].as_str().unwrap().to_owned();
    // As the worker leaves it after upstream success.
    sqlx::query(
        "UPDATE jobs SET state = 'delivering', held = 0, captured = quote, due = quote, capture_version = 1, usage_revision = 1,
                usage_occurred_at = submitted_at, usage_hash = sha256('a'), settlement_state = 'captured'",
    )
    .execute(&house.owner)
    .await
    .unwrap();
    let store = async |output: &str| {
        house
            .call(
                Method::PUT,
                &format!("/v1/jobs/{id}/output"),
                Some(json!({ "output": output })),
            )
            .await
    };
    let answer = store("s3://renders/1.png").await;
    assert_eq!(
        (answer.outcome().as_str(), answer.json["state"].as_str()),
        ("200", Some("completed"))
    );
    assert_eq!(store("s3://renders/1.png").await.outcome(), "200");
    assert_eq!(
        store("s3://renders/2.png").await.outcome(),
        "409 state-conflict"
    );
    let causes = house.count(
        "SELECT count(*) FROM job_transitions WHERE cause = 'output' AND to_state = 'completed'",
    );
    assert_eq!(causes.await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn jobs_are_listed_newest_first_in_pages_that_do_not_shift(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let mut ids = Vec::new();
    for request in ["r1", "r2", "r3"] {
        ids.push(house.submitted(request, "1").await);
    }
    let names = |page: &serde_json::Value| -> Vec<String> {
        let jobs = page["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = house.call(Method::GET, "/v1/jobs?limit=2", None).await.json;
    assert_eq!(names(&page), [ids[2].clone(), ids[1].clone()]);
    let next = format!(
        "/v1/jobs?limit=2&before={}",
        page["next_before"].as_str().unwrap()
    );
    let page = house.call(Method::GET, &next, None).await.json;
    assert_eq!(names(&page), [ids[0].clone()]);
    assert!(page["next_before"].is_null());
    for query in [
        "state=nope",
        "limit=0",
        "limit=201",
        "before=job_1",
        "surprise=1",
    ] {
        let answer = house
            .call(Method::GET, &format!("/v1/jobs?{query}"), None)
            .await;
        assert_eq!(answer.outcome(), "422 invalid", "{query}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_list_that_takes_too_long_is_given_up_and_says_so(owner: PgPool) {
    let house = House::new(owner).await;
    let mut gate = house.owner.begin().await.unwrap();
    sqlx::query("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        .execute(&mut *gate)
        .await
        .unwrap();
    let answer = house.call(Method::GET, "/v1/jobs", None).await;
    assert_eq!(answer.outcome(), "503 overloaded");
    gate.rollback().await.unwrap();
    assert_eq!(
        house.call(Method::GET, "/v1/jobs", None).await.outcome(),
        "200"
    );
}
