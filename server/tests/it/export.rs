//! Lists as files: whole, of one moment, safe to open, and on record.

use axum::{
    body::Body,
    http::{Request, header},
};
use serde_json::json;
use sqlx::PgPool;

use crate::house::{House, PASSWORD};

/// A house with jobs, one of them with a name that a spreadsheet would run, and somebody signed in.
async fn signed_in(owner: PgPool, jobs: usize) -> (House, String) {
    let house = House::new(owner).await;
    house.grant("10000", None).await;
    house.operator().await;
    sqlx::query("UPDATE tenants SET in_flight_limit = 1000")
        .execute(&house.owner)
        .await
        .unwrap();
    for number in 0..jobs {
        let answer = house.submit(&format!("r{number}"), "1").await;
        assert_eq!(answer.outcome(), "202");
    }
    let form = format!(
        "email=anna%40example.org&password={}&back=/",
        PASSWORD.replace(' ', "+")
    );
    let request = Request::post("/sign-in")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from(form))
        .unwrap();
    let answer = house.send(request).await;
    let cookie = answer
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    (house, cookie)
}

async fn get(house: &House, path: &str, cookie: &str) -> (u16, String) {
    let request = Request::get(path).header(header::COOKIE, cookie);
    let answer = house.send(request.body(Body::empty()).unwrap()).await;
    (answer.status.as_u16(), answer.text)
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_list_is_exported_whole_with_its_filter_and_leaves_a_line(owner: PgPool) {
    // More than two pages of the console.
    let (house, cookie) = signed_in(owner, 120).await;
    let (status, text) = get(&house, "/jobs/export.csv?state=pending", &cookie).await;
    assert_eq!(status, 200);
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines[0].contains("jobs, test, filter: state=pending, times in UTC"),
        "{}",
        lines[0]
    );
    assert!(lines[1].starts_with("job,tenant,"), "{}", lines[1]);
    assert_eq!(lines.len(), 2 + 120 + 1);
    assert_eq!(*lines.last().unwrap(), "\"end, 120 rows\"");
    let mut jobs: Vec<_> = lines[2..122]
        .iter()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs.len(), 120, "each row once");
    assert_eq!(
        house
            .count(
                "SELECT count(*) FROM audit_log WHERE action = 'list.export' AND object = 'jobs'"
            )
            .await,
        1
    );
    let (_, none) = get(&house, "/jobs/export.csv?state=failed", &cookie).await;
    assert!(none.ends_with("\"end, 0 rows\"\r\n"), "{none}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn wallets_go_on_where_a_page_ends(owner: PgPool) {
    let (house, cookie) = signed_in(owner, 0).await;
    for number in 0..120 {
        House::tenant(&house.engine, &format!("Tenant {number}")).await;
    }
    let (_, text) = get(&house, "/wallets/export.csv", &cookie).await;
    let mut wallets: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(',').next())
        .filter(|cell| cell.starts_with("wallet_"))
        .collect();
    wallets.sort_unstable();
    wallets.dedup();
    assert_eq!(wallets.len(), 121, "each row once: {text}");
    assert!(text.ends_with("\"end, 121 rows\"\r\n"), "{text}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_a_sender_names_is_text_in_a_spreadsheet(owner: PgPool) {
    let (house, cookie) = signed_in(owner, 1).await;
    sqlx::query("UPDATE tenants SET name = '=cmd|''/c calc''!A1'")
        .execute(&house.owner)
        .await
        .unwrap();
    let (_, text) = get(&house, "/jobs/export.csv", &cookie).await;
    assert!(text.contains(",'=cmd|"), "{text}");
    assert!(!text.contains(",=cmd|"), "{text}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_list_has_its_file_and_what_is_not_understood_is_refused(owner: PgPool) {
    let (house, cookie) = signed_in(owner, 1).await;
    let wallet = json!(house.wallet).as_str().unwrap().to_owned();
    for path in [
        "/jobs/export.csv",
        "/events/export.csv",
        "/settlements/export.csv",
        "/audit/export.csv",
        "/exceptions/export.csv",
        "/deliveries/export.csv",
        "/statements/export.csv",
        "/reconciliation/export.csv",
        "/seals/export.csv",
        "/tasks/export.csv",
        "/wallets/export.csv",
        &format!("/wallets/{wallet}/export.csv"),
    ] {
        let (status, text) = get(&house, path, &cookie).await;
        assert_eq!(status, 200, "{path}");
        assert!(text.contains("end, "), "{path}: {text}");
        let (status, _) = get(&house, &format!("{path}?colour=red"), &cookie).await;
        assert_eq!(status, 422, "{path}");
        let (status, _) = get(&house, path, "").await;
        assert_eq!(status, 303, "{path} without signing in");
    }
    let (status, _) = get(&house, "/jobs/export.csv?state=done", &cookie).await;
    assert_eq!(status, 422);
    let (status, _) = get(&house, "/nothing/export.csv", &cookie).await;
    assert_eq!(status, 404);
}
