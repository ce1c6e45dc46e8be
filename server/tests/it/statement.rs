//! The form that takes statements in: who may, once, from this site only, and what comes of odd files.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use domain::{exception::Reach, id::StatementId};
use engine::operator::Role;
use serde_json::json;
use sqlx::PgPool;

use crate::house::{Answer, House};

const FILE: &str = "reference,meter,quantity\nr-1,images,1\n";

/// A house with a source, a finished job of it, and somebody of a role signed in.
async fn house(owner: PgPool, role: Role) -> (House, String) {
    let house = House::new(owner).await;
    house.source("acme").await;
    let cookie = house.signed_in(role).await;
    (house, cookie)
}

fn key(house: &House) -> String {
    StatementId(house.engine.mint()).to_string()
}

/// The form's body.
fn body(fields: &[(&str, &str)], file: Option<&[u8]>) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in fields {
        let part =
            format!("--cut\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n");
        body.extend_from_slice(part.as_bytes());
    }
    if let Some(file) = file {
        let head = "--cut\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\
                    content-type: text/csv\r\n\r\n";
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(file);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--cut--\r\n");
    body
}

async fn post(house: &House, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let mut request = Request::post("/statements")
        .header(header::CONTENT_TYPE, "multipart/form-data; boundary=cut");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    house.send(request.body(Body::from(body)).unwrap()).await
}

/// Uploads a file of November; says where that leads and what is said there.
async fn upload(house: &House, cookie: &str, key: &str, file: &[u8]) -> (String, String) {
    upload_with(house, cookie, &[("key", key)], Some(file)).await
}

async fn upload_with(
    house: &House,
    cookie: &str,
    fields: &[(&str, &str)],
    file: Option<&[u8]>,
) -> (String, String) {
    let usual = [
        ("statement_source", "acme"),
        ("from", "2026-11-01"),
        ("to", "2026-12-01"),
        ("absolute", "0"),
        ("relative", ""),
    ];
    let usual = usual
        .into_iter()
        .filter(|(name, _)| fields.iter().all(|(given, _)| given != name));
    let fields: Vec<_> = fields.iter().copied().chain(usual).collect();
    let answer = post(house, &[("cookie", cookie)], body(&fields, file)).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    let place = answer.header("location").to_owned();
    let page = get(house, &place, cookie).await;
    assert_eq!(page.status, 200);
    (place, page.text)
}

async fn get(house: &House, path: &str, cookie: &str) -> Answer {
    let request = Request::get(path).header(header::COOKIE, cookie);
    house.send(request.body(Body::empty()).unwrap()).await
}

async fn stored(house: &House) -> i64 {
    house.count("SELECT count(*) FROM statements").await
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn finance_uploads_and_support_reads(owner: PgPool) {
    let (house, finance) = house(owner, Role::Finance).await;
    let (place, said) = upload(&house, &finance, &key(&house), FILE.as_bytes()).await;
    assert!(place.starts_with("/statements/stmt_"), "{place}");
    let disagree = "Accepted: 1 of 1 groups disagree, and the next run opens an exception for each";
    assert!(said.contains(disagree), "{said}");
    assert!(said.contains("Missing with us"), "{said}");
    for role in [Role::Viewer, Role::Support] {
        let cookie = house.signed_in(role).await;
        let fields = [("key", &*key(&house))];
        let answer = post(&house, &[("cookie", &*cookie)], body(&fields, Some(b"x"))).await;
        assert_eq!(answer.outcome(), "403 forbidden", "{role}");
        let list = get(&house, "/statements", &cookie).await;
        assert!(list.text.contains("2026-11-01 to 2026-12-01"));
        assert!(!list.text.contains("multipart/form-data"), "{role}");
        assert_eq!(get(&house, &place, &cookie).await.status, 200);
    }
    let nobody = post(&house, &[], body(&[], Some(FILE.as_bytes()))).await;
    assert_eq!(nobody.status, 303);
    assert!(nobody.header("location").starts_with("/sign-in"));
    let admin = house.signed_in(Role::Admin).await;
    let form = get(&house, "/statements", &admin).await.text;
    for field in ["source", "statement_source", "file"] {
        let id = format!(" id=\"field-{field}\"");
        assert_eq!(form.matches(&id).count(), 1, "{field}");
    }
    let (again, said) = upload(&house, &admin, &key(&house), FILE.as_bytes()).await;
    assert_eq!(again, place);
    assert!(said.contains("This file was uploaded before"), "{said}");
    assert_eq!(stored(&house).await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_of_another_site_and_one_sent_twice_store_nothing_more(owner: PgPool) {
    let (house, cookie) = house(owner, Role::Finance).await;
    let key = key(&house);
    let fields = [
        ("key", &*key),
        ("statement_source", "acme"),
        ("from", "2026-11-01"),
        ("to", "2026-12-01"),
    ];
    let foreign = [
        ("cookie", &*cookie),
        ("host", "books.example"),
        ("origin", "https://elsewhere.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    let answer = post(&house, &foreign, body(&fields, Some(FILE.as_bytes()))).await;
    assert_eq!(answer.outcome(), "403 forbidden");
    assert_eq!(stored(&house).await, 0);

    let own = [("cookie", &*cookie)];
    let twice = || post(&house, &own, body(&fields, Some(FILE.as_bytes())));
    let (one, two) = tokio::join!(twice(), twice());
    assert_eq!(one.header("location"), format!("/statements/{key}"));
    assert_eq!(two.header("location"), one.header("location"));
    assert_eq!(stored(&house).await, 1);
    let lines = "SELECT count(*) FROM audit_log WHERE action = 'statement.import'";
    assert_eq!(house.count(lines).await, 1);
    let (place, said) = upload(&house, &cookie, &key, b"reference,meter,quantity\n").await;
    assert_eq!(place, "/statements");
    assert!(said.contains("sent before with another file"), "{said}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_is_typed_wrong_stores_nothing_and_says_so(owner: PgPool) {
    let (house, cookie) = house(owner, Role::Finance).await;
    let file = Some(FILE.as_bytes());
    for (field, text, said) in [
        ("statement_source", "", "choose a source"),
        ("statement_source", "nobody", "there is no source"),
        ("from", "yesterday", "choose the first day"),
        (
            "to",
            "2026-11-01",
            "a period runs from a day to a later one",
        ),
        ("absolute", "-1", "a tolerance is not below zero"),
        ("relative", "2", "a tolerance is not below zero"),
        ("relative", "much", "write a tolerance like 0.01"),
        ("key", "stmt_1", "open the form again"),
    ] {
        let key = key(&house);
        let mut fields = vec![("key", &*key)];
        if field == "key" {
            fields.clear();
        }
        fields.push((field, text));
        let (place, page) = upload_with(&house, &cookie, &fields, file).await;
        assert_eq!(place, "/statements");
        assert!(page.contains("Nothing was stored"), "{field}");
        assert!(page.contains(said), "{field} {text}");
    }
    let key = key(&house);
    for file in [None, Some("".as_bytes())] {
        let (_, page) = upload_with(&house, &cookie, &[("key", &*key)], file).await;
        let said = page.contains("choose a file") || page.contains("Refused for 1 error");
        assert!(said, "{page}");
    }
    let own = [("cookie", &*cookie)];
    let unknown = post(&house, &own, body(&[("colour", "red")], None)).await;
    assert_eq!(unknown.outcome(), "422 invalid");
    let long = "x".repeat(2000);
    let long = post(&house, &own, body(&[("statement_source", &long)], None)).await;
    assert_eq!(long.outcome(), "422 invalid");
    let large = vec![b'x'; 17 * 1024 * 1024];
    let large = post(&house, &own, body(&[("key", &key)], Some(&large))).await;
    assert_eq!(large.outcome(), "413 too-large");
    let form = Request::post("/statements")
        .header(header::COOKIE, &*cookie)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from("key=1"))
        .unwrap();
    assert_eq!(house.send(form).await.outcome(), "422 invalid");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_a_provider_writes_is_text_on_the_page_and_in_a_spreadsheet(owner: PgPool) {
    let (house, cookie) = house(owner, Role::Finance).await;
    let file = "reference,meter,quantity\n=cmd|'/c calc'!A1,images,1\n<script>alert(1)</script>,images,2\n";
    let (place, page) = upload(&house, &cookie, &key(&house), file.as_bytes()).await;
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(!page.contains("<script>alert(1)"), "{page}");
    let export = get(&house, &format!("{place}/export.csv"), &cookie).await;
    assert_eq!(export.status, 200);
    assert!(
        export
            .text
            .contains("\r\n'=cmd|'/c calc'!A1,images,missing_with_us,1,,"),
        "{}",
        export.text
    );
    assert!(
        export.text.ends_with("\"end, 2 rows\"\r\n"),
        "{}",
        export.text
    );
    let filtered = get(
        &house,
        &format!("{place}/export.csv?outcome=timing"),
        &cookie,
    )
    .await;
    assert!(
        filtered.text.ends_with("\"end, 0 rows\"\r\n"),
        "{}",
        filtered.text
    );

    let file = b"<script>alert(2)</script>,\xff\n";
    let (place, page) = upload(&house, &cookie, &key(&house), file).await;
    assert!(page.contains("Refused for 1 error"), "{page}");
    assert!(!page.contains("<script>alert(2)"), "{page}");
    assert!(page.contains("unknown columns"), "{page}");
    assert_ne!(place, "/statements");
    for path in ["/statements/stmt_1", "/statements/stmt_1/export.csv"] {
        assert_eq!(get(&house, path, &cookie).await.status, 404, "{path}");
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_exception_leads_to_the_statement_and_to_the_form_that_corrects(owner: PgPool) {
    let (house, cookie) = house(owner, Role::Finance).await;
    house.grant("100", None).await;
    let job = house.submitted("a", "4").await;
    let reference = json!({ "source": "acme", "provider_reference": "r-1" });
    let path = format!("/v1/jobs/{job}/provider-reference");
    let attached = house.call(Method::PUT, &path, Some(reference)).await;
    assert_eq!(attached.status, 200, "{}", attached.text);
    let finished =
        "UPDATE jobs SET state = 'failed', state_reason = 'test', held = 0, state_at = $1";
    sqlx::query(finished)
        .bind(house.engine.clock().now())
        .execute(&house.owner)
        .await
        .unwrap();
    let (place, _) = upload(&house, &cookie, &key(&house), FILE.as_bytes()).await;
    let cause = domain::exception::Cause::CommandLine;
    house
        .engine
        .reconcile(cause, Some(Reach::Full), None)
        .await
        .unwrap();
    let find = "SELECT exception_id FROM exceptions WHERE class = 'usage_is_as_the_provider_says'";
    let id = house.count(find).await;
    let page = get(&house, &format!("/exceptions/exc_{id}"), &cookie)
        .await
        .text;
    assert!(
        page.contains("Our usage is not what the provider states"),
        "{page}"
    );
    assert!(page.contains(&format!("href=\"{place}\"")), "{page}");
    let form = format!("href=\"/jobs/{job}/charge?");
    assert!(page.contains(&form), "{page}");
    let from = page.find(&form).unwrap() + "href=\"".len();
    let href = page[from..]
        .split('"')
        .next()
        .unwrap()
        .replace("&amp;", "&");
    let form = get(&house, &href, &cookie).await.text;
    assert!(
        form.contains(&format!("exc_{id}: acme states 1 images for r-1")),
        "{form}"
    );
}
