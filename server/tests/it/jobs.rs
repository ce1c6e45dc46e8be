//! Submitting jobs: what is written, what is refused, and what a repeat gets.

use axum::http::Method;
use chrono::TimeDelta;
use insta::assert_snapshot;
use serde_json::json;
use sqlx::PgPool;

use crate::house::{House, start};

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_job_holds_its_quote_in_one_transaction(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;

    let answer = house.submit("r1", "4").await;
    assert_eq!(answer.outcome(), "202");
    assert_eq!(answer.json["created"], true);
    assert_eq!(answer.json["remaining_available"], "99.84");
    assert_eq!(answer.json["job"]["quote"], "0.16");
    assert_eq!(answer.json["job"]["settlement_state"], "reserved");
    assert!(answer.header("x-request-id").starts_with("req_"));
    assert_snapshot!(house.ledger().await, @r"
    grant/1 grant funding→available 100 (-, 100)
    reserve/1 hold available→held 0.16 (99.84, 0.16)
    ");
    assert_eq!(house.count("SELECT count(*) FROM job_transitions WHERE to_state = 'pending' AND cause = 'submit'").await, 1);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_repeat_finds_the_job_and_another_request_under_its_id_is_refused(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let first = house.submitted("r1", "4").await;

    // A newer price does not re-price what was quoted.
    let terms = json!({ "components": [{ "meter": "images", "price": "9", "per": "1" }], "estimate": { "images": "1" } });
    let mut conn = house.engine.pool().acquire().await.unwrap();
    let terms = serde_json::from_value(terms).unwrap();
    engine::price::add(
        &mut conn,
        &house.engine,
        ("flux-pro", crate::house::usd()),
        &terms,
        start(),
        "test",
    )
    .await
    .unwrap();

    let again = house.submit("r1", "4").await;
    assert_eq!(again.outcome(), "202");
    assert_eq!(again.json["created"], false);
    assert_eq!(again.json["job"]["id"], first);
    assert_eq!(again.json["job"]["quote"], "0.16");

    let other = house.submit("r1", "5").await;
    assert_eq!(other.outcome(), "422 client-request-reused");
    assert_eq!(other.json["job_id"], first);
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 1);
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE phase = 'reserve'")
            .await,
        1
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_wallet_that_is_short_writes_nothing_and_says_how_much_is_missing(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("1.00", None).await;
    house
        .grant("9.00", Some(start() + TimeDelta::hours(1)))
        .await;
    house.engine.clock().advance(TimeDelta::hours(2));

    let answer = house.submit("r1", "30").await;
    assert_eq!(answer.outcome(), "402 insufficient-funds");
    assert_eq!(answer.json["quote"], "1.20");
    assert_eq!(
        answer.json["spendable"], "1.00",
        "expired credit cannot be spent"
    );
    assert_eq!(answer.json["missing"], "0.20");
    assert!(
        answer.json["next_step"]
            .as_str()
            .unwrap()
            .contains("Add credit")
    );
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 0);
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE subject_kind = 'job'")
            .await,
        0
    );

    // The same request goes through once there is credit.
    house.grant("5.00", None).await;
    assert_eq!(house.submit("r1", "30").await.outcome(), "202");
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn lots_are_drawn_soonest_expiry_first(owner: PgPool) {
    let house = House::new(owner).await;
    let never = house.grant("1.00", None).await;
    let late = house
        .grant("0.10", Some(start() + TimeDelta::days(9)))
        .await;
    let soon = house
        .grant("0.02", Some(start() + TimeDelta::days(2)))
        .await;
    house.submitted("r1", "4").await;

    let mut drawn = Vec::new();
    for lot in [soon, late, never] {
        let amount: String = sqlx::query_scalar("SELECT trim_scale(sum(amount))::text FROM lot_draws WHERE lot_id = $1 AND direction = 'draw'")
            .bind(lot.0)
            .fetch_one(&house.owner)
            .await
            .unwrap();
        drawn.push(amount);
    }
    assert_eq!(drawn, ["0.02", "0.1", "0.04"]);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_frozen_wallet_spends_nothing_until_it_thaws(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let wallet = (house.tenant, house.wallet);
    let mut tx = house.engine.pool().begin().await.unwrap();
    assert!(
        engine::wallet::freeze(&mut tx, &house.engine, wallet, "disputed payment")
            .await
            .unwrap()
    );
    tx.commit().await.unwrap();

    let answer = house.submit("r1", "4").await;
    assert_eq!(answer.outcome(), "403 wallet-frozen");
    assert!(
        answer.json["detail"]
            .as_str()
            .unwrap()
            .contains("disputed payment")
    );
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 0);

    let mut conn = house.engine.pool().acquire().await.unwrap();
    assert!(engine::wallet::thaw(&mut conn, wallet).await.unwrap());
    assert_eq!(house.submit("r1", "4").await.outcome(), "202");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn no_more_jobs_are_in_flight_than_the_tenant_may_have(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    for request in ["r1", "r2", "r3"] {
        house.submitted(request, "1").await;
    }
    let answer = house.submit("r4", "1").await;
    assert_eq!(answer.outcome(), "429 too-many-in-flight");
    assert_eq!(answer.header("retry-after"), "5");
    assert_eq!(
        house.submit("r3", "1").await.outcome(),
        "202",
        "a repeat is not a new job"
    );
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 3);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_job_over_the_limit_is_on_record_with_nothing_reserved(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    for created in [true, false] {
        let answer = house.submit("r1", "1251").await;
        assert_eq!(answer.outcome(), "403 job-blocked");
        assert_eq!(answer.json["created"], created);
        assert_eq!(answer.json["job"]["state"], "blocked");
        assert_eq!(answer.json["job"]["held"], "0.00");
    }
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE subject_kind = 'job'")
            .await,
        0
    );
    let id = house
        .call(Method::GET, "/v1/jobs?state=blocked", None)
        .await
        .json["jobs"][0]["id"]
        .clone();
    let cancel = format!("/v1/jobs/{}/cancel", id.as_str().unwrap());
    assert_eq!(
        house.call(Method::POST, &cancel, None).await.outcome(),
        "409 state-conflict"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn work_that_costs_nothing_holds_nothing_and_is_reserved_all_the_same(owner: PgPool) {
    let house = House::new(owner).await;
    let answer = house.submit("r1", "0").await;
    assert_eq!(answer.outcome(), "202");
    assert_eq!(answer.json["job"]["quote"], "0.00");
    assert_eq!(
        house
            .count("SELECT count(*) FROM settlements WHERE phase = 'reserve' AND amount = 0")
            .await,
        1
    );
    assert_eq!(house.count("SELECT count(*) FROM transfers").await, 0);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn two_submissions_of_one_client_request_make_one_job(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;

    // Both get past the first look-up and queue on the wallet's lock.
    let mut gate = house.owner.begin().await.unwrap();
    sqlx::query("SELECT 1 FROM balances WHERE floored FOR UPDATE")
        .execute(&mut *gate)
        .await
        .unwrap();
    let racers = [house.clone(), house.clone()]
        .map(|house| tokio::spawn(async move { house.submit("r1", "4").await }));
    while house.count("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").await < 2 {
        tokio::task::yield_now().await;
    }
    gate.commit().await.unwrap();

    let mut created = Vec::new();
    let mut ids = Vec::new();
    for racer in racers {
        let answer = racer.await.unwrap();
        assert_eq!(answer.outcome(), "202");
        created.push(answer.json["created"].as_bool().unwrap());
        ids.push(answer.json["job"]["id"].clone());
    }
    created.sort_unstable();
    assert_eq!(created, [false, true]);
    assert_eq!(ids[0], ids[1]);
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 1);
    house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn one_client_request_through_two_wallets_is_decided_by_the_constraint(owner: PgPool) {
    let house = House::new(owner).await;
    house.grant("100", None).await;
    let mut conn = house.engine.pool().acquire().await.unwrap();
    let second = engine::wallet::open(
        &mut conn,
        &house.engine,
        house.tenant,
        "Second",
        crate::house::usd(),
        false,
    )
    .await
    .unwrap();
    drop(conn);
    let mut other = house.job("r1", "0");
    other["wallet"] = json!(second);

    // The first holds its uncommitted row while the second runs into the unique key and waits.
    let mut gate = house.owner.begin().await.unwrap();
    sqlx::query("LOCK TABLE lot_draws IN ACCESS EXCLUSIVE MODE")
        .execute(&mut *gate)
        .await
        .unwrap();
    let racer = |body: serde_json::Value| {
        let house = house.clone();
        tokio::spawn(async move { house.call(Method::POST, "/v1/jobs", Some(body)).await })
    };
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let first = racer(house.job("r1", "4"));
    while house.count(waiting).await < 1 {
        tokio::task::yield_now().await;
    }
    let second = racer(other);
    while house.count(waiting).await < 2 {
        tokio::task::yield_now().await;
    }
    gate.commit().await.unwrap();
    assert_eq!(first.await.unwrap().outcome(), "202");
    assert_eq!(second.await.unwrap().outcome(), "422 client-request-reused");
    assert_eq!(house.count("SELECT count(*) FROM jobs").await, 1);
    house.books_are_in_order().await;
}
