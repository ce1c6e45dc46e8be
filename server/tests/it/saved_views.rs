//! Saved views: a name is text wherever it stands, one name means one view, and a view is its owner's.

use axum::{
    body::Body,
    http::{Request, header},
};
use sqlx::PgPool;

use crate::house::{Answer, House, PASSWORD};

async fn send(house: &House, path: &str, cookie: &str, form: &str) -> Answer {
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::COOKIE, cookie);
    house
        .send(request.body(Body::from(form.to_owned())).unwrap())
        .await
}

async fn page(house: &House, path: &str, cookie: &str) -> String {
    let request = Request::get(path).header(header::COOKIE, cookie);
    house.send(request.body(Body::empty()).unwrap()).await.text
}

async fn signed_in(house: &House) -> String {
    house.operator().await;
    let password = PASSWORD.replace(' ', "+");
    let form = format!("email=anna%40example.org&password={password}&back=/");
    let answer = send(house, "/sign-in", "", &form).await;
    let cookie = answer.header("set-cookie").split(';').next();
    cookie.unwrap().to_owned()
}

const VIEWS: &str = "SELECT count(*) FROM saved_views";
const FILTERS: &str = "state%3Dfailed";

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_view_stands_above_its_list_and_its_name_is_text(owner: PgPool) {
    let house = House::new(owner).await;
    let cookie = signed_in(&house).await;
    let name = "%3C%2Fa%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E%22";
    let form = format!("list=jobs&filters={FILTERS}&view_name={name}&shared=true");
    let saved = send(&house, "/views", &cookie, &form).await;
    assert_eq!(saved.header("location"), "/jobs?state=failed");
    let jobs = page(&house, "/jobs?state=failed", &cookie).await;
    assert!(!jobs.contains("<script>alert"), "{jobs}");
    assert!(jobs.contains("&lt;script&gt;alert(1)"), "{jobs}");
    assert!(jobs.contains("aria-label=\"Saved views\""));
    let events = page(&house, "/events", &cookie).await;
    assert!(!events.contains("Saved views"), "a view is of one list");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_name_that_is_taken_or_missing_is_said_beside_it(owner: PgPool) {
    let house = House::new(owner).await;
    let cookie = signed_in(&house).await;
    let form = |name: &str| format!("list=jobs&filters={FILTERS}&view_name={name}&shared=false");
    send(&house, "/views", &cookie, &form("Mine")).await;
    page(&house, "/jobs", &cookie).await;
    for (name, why) in [
        ("Mine", "you have a view of this name"),
        ("+", "1 to 60 characters"),
    ] {
        let refused = send(&house, "/views", &cookie, &form(name)).await;
        assert_eq!(refused.header("location"), "/jobs?state=failed");
        let jobs = page(&house, "/jobs?state=failed", &cookie).await;
        let (_, beside) = jobs.split_once("id=\"wrong-view_name\"").unwrap();
        assert!(beside.contains(why), "{why}");
        let again = page(&house, "/jobs?state=failed", &cookie).await;
        assert!(!again.contains("wrong-view_name"), "said once");
    }
    assert_eq!(house.count(VIEWS).await, 1);
    let elsewhere = "list=jobs&filters=a%3Db%23%2F%2Fevil&view_name=x&shared=false";
    send(&house, "/views", &cookie, elsewhere).await;
    let nowhere = format!("list=%2Fevil&filters={FILTERS}&view_name=x&shared=false");
    assert_eq!(send(&house, "/views", &cookie, &nowhere).await.status, 404);
    assert_eq!(house.count(VIEWS).await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn only_its_owner_deletes_a_view(owner: PgPool) {
    let house = House::new(owner).await;
    let cookie = signed_in(&house).await;
    let form = format!("list=jobs&filters={FILTERS}&view_name=Mine&shared=true");
    send(&house, "/views", &cookie, &form).await;
    let id: uuid::Uuid = sqlx::query_scalar("SELECT view_id FROM saved_views")
        .fetch_one(&house.owner)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO operators (operator_id, email, name, role, password_hash, created_at)
         SELECT gen_random_uuid(), 'ben@example.org', 'Ben', role, password_hash, created_at FROM operators",
    )
    .execute(&house.owner)
    .await
    .unwrap();
    let theirs = "UPDATE saved_views SET operator_id = (SELECT operator_id FROM operators WHERE name = 'Ben')";
    sqlx::query(theirs).execute(&house.owner).await.unwrap();
    let jobs = page(&house, "/jobs", &cookie).await;
    assert!(jobs.contains("Mine · Ben"), "{jobs}");
    assert!(!jobs.contains("/delete"), "{jobs}");
    send(
        &house,
        &format!("/views/{id}/delete"),
        &cookie,
        "back=/jobs",
    )
    .await;
    assert_eq!(house.count(VIEWS).await, 1);
    let mine = "UPDATE saved_views SET operator_id = (SELECT operator_id FROM operators WHERE name <> 'Ben')";
    sqlx::query(mine).execute(&house.owner).await.unwrap();
    send(
        &house,
        &format!("/views/{id}/delete"),
        &cookie,
        "back=/jobs",
    )
    .await;
    assert_eq!(house.count(VIEWS).await, 0);
}
