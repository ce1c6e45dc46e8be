//! The console's doors: sign-in, sessions, forms of other sites, return paths, live news.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sqlx::PgPool;

use crate::house::{Answer, House, PASSWORD};

async fn post(house: &House, path: &str, headers: &[(&str, &str)], form: &str) -> Answer {
    let mut request =
        Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    house
        .send(request.body(Body::from(form.to_owned())).unwrap())
        .await
}

async fn get(house: &House, path: &str, cookie: &str) -> Answer {
    let request = Request::get(path).header(header::COOKIE, cookie);
    house.send(request.body(Body::empty()).unwrap()).await
}

async fn sign_in(house: &House, password: &str, back: &str) -> Answer {
    let password = password.replace(' ', "+");
    let form = format!("email=Anna%40example.org&password={password}&back={back}");
    post(house, "/sign-in", &[], &form).await
}

fn cookie(answer: &Answer) -> String {
    answer
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap()
        .to_owned()
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn nobody_gets_in_without_signing_in(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    for path in ["/", "/jobs", "/jump?q=x", "/nowhere"] {
        let answer = get(&house, path, "").await;
        assert_eq!(answer.status, 303, "{path}");
        assert!(
            answer.header("location").starts_with("/sign-in?back="),
            "{path}"
        );
    }
    assert_eq!(get(&house, "/live?topic=jobs", "").await.status, 401);
    let machine = post(&house, "/webhooks/nowhere", &[], "").await;
    assert_eq!(machine.outcome(), "404 not-found");
    assert_eq!(get(&house, "/sign-in", "").await.status, 200);
    assert_eq!(
        get(&house, "/", "quittance=AAAAAAAAAAAAAAAAAAAAAA")
            .await
            .status,
        303
    );

    let answer = sign_in(&house, PASSWORD, "/jobs%3Fstate%3Dfailed").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (303, "/jobs?state=failed")
    );
    let session = cookie(&answer);
    assert_eq!(
        get(&house, "/jump?q=x", &session).await.header("location"),
        "/jobs"
    );
    let attributes = answer.header("set-cookie");
    assert!(
        attributes.contains("HttpOnly") && attributes.contains("SameSite=Lax"),
        "{attributes}"
    );

    post(&house, "/sign-out", &[("cookie", session.as_str())], "").await;
    assert_eq!(
        get(&house, "/", &session).await.header("location"),
        "/sign-in?back=/"
    );
    let audit = "SELECT count(*) FROM audit_log WHERE action IN ('session.open', 'session.close')";
    assert_eq!(house.count(audit).await, 2);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_account_that_is_disabled_is_out_at_once(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let session = cookie(&sign_in(&house, PASSWORD, "/").await);
    assert!(
        get(&house, "/jump?q=x", &session)
            .await
            .header("location")
            .starts_with("/jobs")
    );
    sqlx::query("UPDATE operators SET disabled_at = created_at")
        .execute(&house.owner)
        .await
        .unwrap();
    assert!(
        get(&house, "/jump?q=x", &session)
            .await
            .header("location")
            .starts_with("/sign-in")
    );
    assert!(
        sign_in(&house, PASSWORD, "/")
            .await
            .header("location")
            .contains("refused=credentials")
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_session_is_kept_under_the_hash_of_its_id(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let session = cookie(&sign_in(&house, PASSWORD, "/").await);
    let id = session.strip_prefix("quittance=").unwrap();
    let stored: Vec<(Vec<u8>, String)> =
        sqlx::query_as("SELECT session_hash, data::text FROM sessions")
            .fetch_all(&house.owner)
            .await
            .unwrap();
    let [(hash, data)] = stored.as_slice() else {
        panic!("{stored:?}")
    };
    let raw = URL_SAFE_NO_PAD.decode(id).unwrap();
    assert!(!hash.windows(raw.len()).any(|part| part == raw));
    assert!(!data.contains(id));
    // The session that was there before signing in is not the one after it.
    let planted = post(
        &house,
        "/sign-in",
        &[("cookie", session.as_str())],
        &format!(
            "email=anna%40example.org&password={}",
            PASSWORD.replace(' ', "+")
        ),
    )
    .await;
    assert_ne!(cookie(&planted), session);
    assert!(
        get(&house, "/jump?q=x", &session)
            .await
            .header("location")
            .starts_with("/sign-in")
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn guessing_locks_the_account_and_waiting_unlocks_it(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    for _ in 0..engine::operator::PAIR_LIMIT {
        assert!(
            sign_in(&house, "wrong", "/")
                .await
                .header("location")
                .contains("refused=credentials")
        );
    }
    for _ in 0..3 {
        let locked = sign_in(&house, PASSWORD, "/").await;
        assert!(
            locked.header("location").contains("refused=attempts"),
            "even the right password waits"
        );
    }
    // Who guesses from one place does not lock the person out elsewhere.
    let elsewhere = house
        .engine
        .sign_in("anna@example.org", PASSWORD, "198.51.100.9")
        .await;
    assert!(elsewhere.is_ok(), "{elsewhere:?}");
    house.engine.clock().advance(engine::operator::WINDOW);
    assert_eq!(sign_in(&house, PASSWORD, "/").await.header("location"), "/");
    assert_eq!(
        house
            .count("SELECT count(*) FROM sign_in_failures WHERE subject LIKE 'email:%'")
            .await,
        0
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_form_of_another_site_cannot_act(owner: PgPool) {
    let house = House::new(owner).await;
    let theme = async |headers: &[(&str, &str)]| {
        let headers = [headers, &[("host", "books.example")]].concat();
        post(&house, "/theme", &headers, "theme=dark")
            .await
            .status
            .as_u16()
    };
    assert_eq!(theme(&[("sec-fetch-site", "same-origin")]).await, 303);
    assert_eq!(theme(&[("sec-fetch-site", "none")]).await, 303);
    assert_eq!(theme(&[("sec-fetch-site", "cross-site")]).await, 403);
    assert_eq!(theme(&[("sec-fetch-site", "same-site")]).await, 403);
    assert_eq!(theme(&[("origin", "https://evil.example")]).await, 403);
    assert_eq!(theme(&[("origin", "null")]).await, 403);
    assert_eq!(theme(&[("origin", "https://books.example")]).await, 303);
    assert_eq!(theme(&[]).await, 303, "no browser sends neither header");
    house.operator().await;
    let session = cookie(&sign_in(&house, PASSWORD, "/").await);
    for path in ["/theme", "/sign-out", "/shortcuts"] {
        assert_eq!(
            get(&house, path, &session).await.status,
            405,
            "{path} must not act on GET"
        );
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_return_path_never_leaves_this_site(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    for back in [
        "//evil.example",
        "/%5Cevil.example",
        "https:%2F%2Fevil.example",
        "/%0D%0Aset-cookie:a=b",
        "javascript:alert(1)",
        "",
    ] {
        assert_eq!(
            sign_in(&house, PASSWORD, back).await.header("location"),
            "/",
            "{back}"
        );
        let theme = post(&house, "/theme", &[], &format!("theme=dark&back={back}")).await;
        assert_eq!(theme.header("location"), "/", "{back}");
    }
    let deep = sign_in(&house, PASSWORD, "/jobs%3Fstate%3Dfailed%26before%3Djob_1").await;
    assert_eq!(deep.header("location"), "/jobs?state=failed&before=job_1");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn every_answer_says_what_a_browser_may_do_with_it(owner: PgPool) {
    let house = House::new(owner).await;
    let page = get(&house, "/sign-in", "").await;
    let policy = page.header("content-security-policy");
    assert!(
        policy.contains("script-src 'self' 'nonce-") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe-inline"));
    for path in ["/sign-in", "/", "/jump?q=a"] {
        let answer = get(&house, path, "").await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("referrer-policy"), "same-origin");
        assert_eq!(answer.header("cache-control"), "no-store");
        assert!(!answer.header("content-security-policy").is_empty());
    }
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_jump_finds_a_job_by_any_of_its_names(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    house.source("gateway").await;
    house.grant("100", None).await;
    let session = cookie(&sign_in(&house, PASSWORD, "/").await);
    let job = house.submitted("order-1042", "1").await;
    let body = serde_json::json!({ "source": "gateway", "provider_reference": "gm3qorzd" });
    house
        .call(
            Method::PUT,
            &format!("/v1/jobs/{job}/provider-reference"),
            Some(body),
        )
        .await;
    let page = format!("/jobs/{job}");
    for text in [
        job.as_str(),
        "order-1042",
        "gm3qorzd",
        " gm3qorzd ",
        "user_1",
    ] {
        let to = get(
            &house,
            &format!("/jump?q={}", text.replace(' ', "%20")),
            &session,
        )
        .await;
        assert_eq!(to.header("location"), page, "{text}");
    }
    let key = format!("{}/{job}/reserve/1", house.tenant);
    let hits = get(&house, &format!("/jump/suggest?q={key}"), &session)
        .await
        .json;
    assert_eq!(hits[0]["detail"], key);
    assert!(
        hits[0]["href"]
            .as_str()
            .unwrap()
            .starts_with("/settlements/stl_")
    );
    let wallet = get(&house, &format!("/jump?q={}", house.wallet), &session).await;
    assert_eq!(
        wallet.header("location"),
        format!("/wallets/{}", house.wallet)
    );
    let nothing = get(&house, "/jump?q=%22%3E%3Cscript%3E", &session).await;
    assert_eq!(nothing.header("location"), "/jobs");
    let page = get(&house, "/nowhere", &session).await;
    assert!(
        !page.text.contains("\"><script>"),
        "what was typed is shown as text"
    );
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_new_password_replaces_the_old_and_a_disabled_account_opens_nothing(owner: PgPool) {
    let house = House::new(owner).await;
    house.operator().await;
    let (email, new) = ("Anna@example.org", "a quite different password");
    let mut conn = house.engine.pool().acquire().await.unwrap();
    let known = engine::operator::set_password(&mut conn, email, new).await;
    assert!(known.unwrap().is_some());
    assert!(house.engine.sign_in(email, PASSWORD, "a").await.is_err());
    assert!(house.engine.sign_in(email, new, "a").await.is_ok());

    let session = cookie(&sign_in(&house, new, "/").await);
    let signed_in = async || {
        let answer = get(&house, "/jump?q=x", &session).await;
        !answer.header("location").starts_with("/sign-in")
    };
    assert!(signed_in().await);
    let disabled = engine::operator::disable(&mut conn, &house.engine, email).await;
    assert!(disabled.unwrap().is_some());
    assert!(house.engine.sign_in(email, new, "a").await.is_err());
    assert!(!signed_in().await);
    let again = engine::operator::disable(&mut conn, &house.engine, email).await;
    assert_eq!(again.unwrap(), None);
    let listed = engine::operator::list(&mut conn).await.unwrap();
    assert!(listed.iter().all(|one| one.disabled_at.is_some()));
}

#[tokio::test]
async fn what_is_counted_is_served_on_an_address_of_its_own() {
    use axum::http::StatusCode;
    use tower::ServiceExt as _;
    let routes = server::http::ops::metrics_routes(server::telemetry::metrics());
    let ask = Request::get("/metrics").body(Body::empty()).unwrap();
    let answer = routes.oneshot(ask).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}
