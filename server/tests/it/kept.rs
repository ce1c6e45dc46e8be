//! A form that is sent after its session had ended is not lost, not sent by itself, and not stored for
//! whoever is not signed in.

use axum::{
    body::Body,
    http::{Request, header},
};
use sqlx::PgPool;

use crate::house::{Answer, House, PASSWORD};

const HOSTILE: &str = "\"><script>alert(1)</script> & 1,50";

/// Sends a form as a browser does.
async fn send(house: &House, path: &str, fields: &[(&str, &str)]) -> Answer {
    let form = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect::<Vec<_>>()
        .join("&");
    let request = Request::post(path)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::ACCEPT, "text/html");
    house.send(request.body(Body::from(form)).unwrap()).await
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn read(house: &House, path: &str, cookie: &str) -> Answer {
    let request = Request::get(path).header(header::COOKIE, cookie);
    house.send(request.body(Body::empty()).unwrap()).await
}

/// What the sign-in page carries.
fn carried(page: &Answer) -> String {
    let (_, rest) = page.text.split_once("name=\"kept\" value=\"").unwrap();
    let (value, _) = rest.split_once('"').unwrap();
    value
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

async fn sign_in(house: &House, password: &str, kept: &str) -> Answer {
    let fields = [
        ("email", "anna@example.org"),
        ("password", password),
        ("back", "/"),
        ("kept", kept),
    ];
    send(house, "/sign-in", &fields).await
}

fn cookie(answer: &Answer) -> String {
    let cookie = answer.header("set-cookie").split(';').next();
    cookie.unwrap_or_default().to_owned()
}

const SESSIONS: &str = "SELECT count(*) FROM sessions";
const THRESHOLDS: &str = "SELECT count(*) FROM approval_thresholds";

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_was_typed_is_there_again_once_and_was_not_sent(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let fields = [
        ("action", "goodwill"),
        ("currency", "EUR"),
        ("above", HOSTILE),
        ("password", "never this"),
    ];
    let turned_away = send(&house, "/thresholds", &fields).await;
    assert_eq!(turned_away.status, 401);
    assert!(turned_away.text.contains("Your session has ended"));
    assert!(!turned_away.text.contains("<script>alert"));
    assert!(!turned_away.text.contains("never this"));
    assert_eq!(cookie(&turned_away), "", "nobody is remembered");
    assert_eq!(house.count(SESSIONS).await, 0);

    let refused = sign_in(&house, "wrong", &carried(&turned_away)).await;
    assert_eq!(refused.status, 401);
    assert!(refused.text.contains("do not match"));
    let opened = sign_in(&house, PASSWORD, &carried(&refused)).await;
    assert_eq!(
        (opened.status.as_u16(), opened.header("location")),
        (303, "/thresholds")
    );
    let session = cookie(&opened);
    let elsewhere = read(&house, "/glossary", &session).await;
    assert!(!elsewhere.text.contains("Your input was kept"));
    let page = read(&house, "/thresholds", &session).await.text;
    assert!(page.contains("Your input was kept; check it and send it again"));
    let typed = "value=\"&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; 1,50\"";
    let plain = typed.replace("&gt;", ">").replace("&lt;", "<");
    assert!(page.contains(typed) || page.contains(&plain), "{page}");
    assert!(!page.replace(&plain, "").contains("<script>alert"));
    assert!(page.contains("value=\"EUR\" selected"), "{page}");
    assert_eq!(house.count(THRESHOLDS).await, 0, "nothing was sent");

    let again = read(&house, "/thresholds", &session).await.text;
    assert!(!again.contains("Your input was kept"), "once");
    assert!(!again.contains("1,50"));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_form_with_something_typed_is_kept(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let wallet = format!("/wallets/{}", house.wallet);
    let reason = ("reason", "what nobody wants to type again");
    for (form, page, fields) in [
        (
            format!("{wallet}/actions"),
            format!("{wallet}/goodwill"),
            vec![("action", "goodwill"), ("amount", "7.50"), reason],
        ),
        (
            "/tenants/t/actions".into(),
            "/tenants/t/freeze".into(),
            vec![("action", "freeze"), reason],
        ),
        (
            "/events/evt_1/decide".into(),
            "/events/evt_1".into(),
            vec![("decision", "dismiss"), reason],
        ),
        (
            "/exceptions/exc_1/note".into(),
            "/exceptions/exc_1".into(),
            vec![("note", "seen before")],
        ),
        (
            "/actions/act_1/refuse".into(),
            "/actions/act_1".into(),
            vec![reason],
        ),
        (
            "/tasks/task_1/start".into(),
            "/tasks/task_1".into(),
            vec![reason],
        ),
    ] {
        let turned_away = send(&house, &form, &fields).await;
        let opened = sign_in(&house, PASSWORD, &carried(&turned_away)).await;
        assert_eq!(opened.header("location"), page, "{form}");
    }
    let fields = [("action", "goodwill"), ("amount", "7.50"), reason];
    let turned_away = send(&house, &format!("{wallet}/actions"), &fields).await;
    let opened = sign_in(&house, PASSWORD, &carried(&turned_away)).await;
    let page = read(&house, opened.header("location"), &cookie(&opened))
        .await
        .text;
    assert!(page.contains("value=\"7.50\""), "{page}");
    assert!(
        page.matches(reason.1).count() >= 2,
        "in its field, and listed"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_cannot_be_kept_is_said(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let long = "x".repeat(17 * 1024);
    for (path, kind, body) in [
        (
            "/statements",
            "multipart/form-data; boundary=b",
            "--b--".to_owned(),
        ),
        (
            "/thresholds",
            "application/x-www-form-urlencoded",
            format!("above={long}"),
        ),
        (
            "/exceptions/act",
            "application/x-www-form-urlencoded",
            "id=1".to_owned(),
        ),
    ] {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, kind)
            .header(header::ACCEPT, "text/html");
        let answer = house.send(request.body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text.contains("could not be kept"), "{path}");
        assert!(!answer.text.contains("name=\"kept\""), "{path}");
    }
    // What a page invents is no form of this site, and leads home.
    let invented = "{\"form\":\"//evil.example/decide\",\"fields\":[[\"a\",\"b\"]]}";
    let opened = sign_in(&house, PASSWORD, invented).await;
    assert_eq!(opened.header("location"), "/");
    let machine = Request::post("/thresholds").body(Body::empty()).unwrap();
    assert_eq!(
        house.send(machine).await.status,
        303,
        "a machine gets no page"
    );
}
