//! Asking a provider how a job stands: what it answers is stored and settled like what it sends, and what
//! it does wrong is told and changes nothing.

mod provider;

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use chrono::TimeDelta;
use engine::{
    operator::Role,
    source::AnswerApi,
    worker::{Settings, settle::Settler},
};
use serde_json::{Value, json};
use sqlx::PgPool;

use self::provider::{Provider, Reply};
use crate::house::{Answer, House, master};

const TOKEN: &str = "r8_token-of-the-provider";

/// A job that a provider has, and somebody who may ask about it.
struct Scene {
    house: House,
    provider: Provider,
    cookie: String,
    job: String,
}

impl Scene {
    async fn new(owner: PgPool, role: Role) -> Self {
        let house = House::new(owner).await;
        house.source("acme").await;
        house.grant("100", None).await;
        let provider = Provider::start().await;
        let scene = Self {
            cookie: house.signed_in(role).await,
            job: house.submitted("a", "4").await,
            provider,
            house,
        };
        let reference = json!({ "source": "acme", "provider_reference": "task/1" });
        let path = format!("/v1/jobs/{}/provider-reference", scene.job);
        let attached = scene.house.call(Method::PUT, &path, Some(reference)).await;
        assert_eq!(attached.status, 200, "{}", attached.text);
        scene
    }

    /// The same, with an answer API.
    async fn with_api(owner: PgPool, role: Role) -> Self {
        let scene = Self::new(owner, role).await;
        scene.set_api().await;
        scene
    }

    async fn set_api(&self) {
        let api = AnswerApi {
            base: self.provider.base.parse().unwrap(),
            token: TOKEN.to_owned(),
        };
        let engine = &self.house.engine;
        engine
            .set_answer_api(&master(), "acme", &api, "test")
            .await
            .unwrap();
    }

    async fn post(&self, headers: &[(&str, &str)], form: &str) -> Answer {
        let mut request = Request::post(format!("/jobs/{}/ask", self.job))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(form.to_owned())).unwrap();
        self.house.send(request).await
    }

    /// Asks, and returns the page that says what came of it.
    async fn ask(&self) -> String {
        let answer = self.post(&[("cookie", &*self.cookie)], "").await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        assert_eq!(answer.header("location"), format!("/jobs/{}", self.job));
        self.get(&format!("/jobs/{}", self.job)).await
    }

    async fn get(&self, path: &str) -> String {
        let request = Request::get(path).header(header::COOKIE, &*self.cookie);
        let answer = self.house.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, 200, "{path}");
        answer.text
    }

    async fn settle(&self) {
        let settings = Settings {
            shards: 1,
            ..Settings::default()
        };
        let settler = Settler::new(self.house.engine.clone(), settings, 0);
        while settler.work().await.unwrap() > 0 {}
    }

    async fn job(&self) -> Value {
        let path = format!("/v1/jobs/{}", self.job);
        self.house.call(Method::GET, &path, None).await.json
    }

    fn wait(&self, seconds: i64) {
        self.house
            .engine
            .clock()
            .advance(TimeDelta::seconds(seconds));
    }
}

fn event(kind: &str, data: Value) -> String {
    json!({ "type": kind, "occurred_at": "2026-11-30T11:00:00Z", "data": data }).to_string()
}

fn succeeded(images: &str) -> String {
    let data = json!({ "provider_reference": "task/1", "usage": { "images": images } });
    event("job.succeeded", data)
}

fn running() -> String {
    event("job.started", json!({ "provider_reference": "task/1" }))
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn an_answer_is_evidence_and_settles_the_job_once(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Support).await;
    scene.provider.will(Reply::body(&succeeded("3")));
    let page = scene.ask().await;
    assert!(page.contains("the work has ended"), "{page}");
    assert_eq!(
        scene.provider.asked(),
        [format!("GET /api/jobs/task%2F1 Bearer {TOKEN}")]
    );
    scene.settle().await;
    let job = scene.job().await;
    assert_eq!(
        (&job["state"], &job["captured"]),
        (&json!("completed"), &json!("0.12"))
    );

    let kept = "SELECT count(*) FROM deliveries d JOIN events e USING (event_id)
                WHERE d.asked AND d.outcome = 'accepted' AND e.event_key LIKE 'asked:task/1:%'";
    assert_eq!(scene.house.count(kept).await, 1);
    let payload =
        "SELECT count(*) FROM event_payloads WHERE convert_from(body, 'UTF8') LIKE '%task/1%'";
    assert_eq!(scene.house.count(payload).await, 1);
    let audited =
        "SELECT count(*) FROM audit_log WHERE action = 'job.ask' AND actor = 'support@example.org'
                   AND detail->>'provider_reference' = 'task/1'";
    assert_eq!(scene.house.count(audited).await, 1);
    // It is over, so there is nothing to ask any more.
    scene.wait(60);
    let page = scene.ask().await;
    assert!(
        page.contains("Nobody was asked: the job is completed"),
        "{page}"
    );
    assert_eq!(scene.provider.asked().len(), 1);
    scene.house.books_are_in_order().await;
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn the_webhook_that_comes_after_all_changes_nothing_more(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Finance).await;
    scene.provider.will(Reply::body(&succeeded("3")));
    scene.ask().await;
    scene.settle().await;
    let sent = "INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                    received_at, shard, state, due_at)
                SELECT source_id, livemode, 'msg_1', canonical_hash, raw_hash, kind, provider_reference,
                    received_at, shard, 'received', received_at FROM events RETURNING event_id";
    let late: i64 = sqlx::query_scalar(sent)
        .fetch_one(&scene.house.owner)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO event_payloads SELECT $1, received_at, body, headers FROM event_payloads",
    )
    .bind(late)
    .execute(&scene.house.owner)
    .await
    .unwrap();
    scene.settle().await;
    assert_eq!(scene.job().await["captured"], json!("0.12"));
    let ignored =
        "SELECT count(*) FROM events WHERE event_key = 'msg_1' AND reason = 'already_settled'";
    assert_eq!(scene.house.count(ignored).await, 1);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn work_that_goes_on_settles_nothing_and_the_answer_is_shown(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Support).await;
    scene.provider.will(Reply::body(&running()));
    let page = scene.ask().await;
    assert!(
        page.contains("the work goes on. Nothing is settled by that"),
        "{page}"
    );
    scene.settle().await;
    let job = scene.job().await;
    assert_eq!(
        (&job["state"], &job["held"]),
        (&json!("running"), &json!("0.16"))
    );
    scene.wait(5);
    scene.ask().await;
    // The same answer is the same event, heard twice.
    let heard = "SELECT count(*) FROM deliveries WHERE asked";
    assert_eq!(scene.house.count(heard).await, 2);
    assert_eq!(scene.house.count("SELECT count(*) FROM events").await, 1);
    let page = scene.get(&format!("/jobs/{}", scene.job)).await;
    assert!(
        page.contains("Goes on") && page.contains("Ask the provider now"),
        "{page}"
    );
    scene.wait(7200);
    let desk = scene.get("/uncertain").await;
    assert!(
        desk.contains("goes on") && desk.contains("Ask the provider now"),
        "{desk}"
    );
    let own = [("cookie", &*scene.cookie)];
    for (back, place) in [
        ("/uncertain?hours=6", "/uncertain?hours=6".to_owned()),
        ("//evil.example", format!("/jobs/{}", scene.job)),
        ("/uncertain\\evil", "/".to_owned()),
    ] {
        scene.wait(60);
        let form = format!("back={}", back.replace('?', "%3F").replace('\\', "%5C"));
        let answer = scene.post(&own, &form).await;
        assert_eq!(answer.header("location"), place);
    }
    let page = scene.get("/events").await;
    assert!(page.contains("job.started"), "{page}");
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn what_a_provider_does_wrong_is_told_and_changes_nothing(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Support).await;
    let other = event("job.failed", json!({ "provider_reference": "task/2" }));
    let elsewhere = format!("{}/elsewhere", scene.provider.base);
    for (reply, outcome, said) in [
        (Reply::status(404), "not_found", "it knows no such work"),
        (Reply::status(401), "refused", "does not take our token"),
        (Reply::status(503), "failed", "answered 503"),
        (
            Reply::elsewhere(&elsewhere),
            "redirected",
            "sent us elsewhere",
        ),
        (Reply::body("<html>"), "not_json", "not with JSON"),
        (
            Reply::body(r#"{"detail":"hello"}"#),
            "unreadable",
            "not the shape",
        ),
        (Reply::body(&other), "other_job", "about other work"),
        (Reply::slow(), "too_slow", "did not answer in time"),
        (
            Reply::huge(),
            "too_large",
            "larger than the source may send",
        ),
    ] {
        scene.provider.will(reply);
        let page = scene.ask().await;
        assert!(page.contains(said), "{outcome}: {page}");
        let last: String =
            sqlx::query_scalar("SELECT outcome FROM ask_answers ORDER BY number DESC LIMIT 1")
                .fetch_one(&scene.house.owner)
                .await
                .unwrap();
        assert_eq!(last, outcome);
        scene.wait(6);
    }
    scene.provider.stop().await;
    let page = scene.ask().await;
    assert!(page.contains("could not be reached"), "{page}");
    assert!(
        !scene
            .provider
            .asked()
            .iter()
            .any(|asked| asked.contains("elsewhere"))
    );
    assert_eq!(scene.house.count("SELECT count(*) FROM events").await, 0);
    assert_eq!(
        scene.house.count("SELECT count(*) FROM ask_answers").await,
        10
    );
    assert_eq!(scene.job().await["held"], json!("0.16"));
    // What the provider writes is not shown, and the token nowhere.
    assert!(!page.contains("<html>hello") && !page.contains(TOKEN));
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn one_question_at_a_time_and_not_too_often(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Support).await;
    scene.provider.will(Reply::slow());
    let (first, second) = tokio::join!(scene.ask(), async {
        scene.provider.until_asked().await;
        scene.ask().await
    });
    // Either page may have told both; one of the two was turned away.
    let told = format!("{first}{second}");
    assert!(
        told.contains("is being asked about this job already"),
        "{told}"
    );
    assert_eq!(scene.provider.asked().len(), 1);
    let page = scene.ask().await;
    assert!(page.contains("ask again in a few seconds"), "{page}");
    assert_eq!(scene.provider.asked().len(), 1);
    scene.wait(5);
    scene.provider.will(Reply::body(&running()));
    scene.ask().await;
    assert_eq!(scene.provider.asked().len(), 2);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn who_may_not_ask_does_not(owner: PgPool) {
    let scene = Scene::with_api(owner, Role::Viewer).await;
    let own = [("cookie", &*scene.cookie)];
    assert_eq!(scene.post(&own, "").await.outcome(), "403 forbidden");
    let page = scene.get(&format!("/jobs/{}", scene.job)).await;
    assert!(!page.contains("Ask the provider now"), "{page}");
    assert!(page.contains("Asking it takes the role support"), "{page}");
    let support = scene.house.signed_in(Role::Support).await;
    let foreign = [
        ("cookie", &*support),
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    assert_eq!(scene.post(&foreign, "").await.outcome(), "403 forbidden");
    let nobody = scene.post(&[], "").await;
    assert!(nobody.header("location").starts_with("/sign-in"));
    assert_eq!(scene.provider.asked().len(), 0);
    assert_eq!(scene.house.count("SELECT count(*) FROM asks").await, 0);
}

#[sqlx::test(migrator = "engine::MIGRATOR")]
async fn a_source_without_an_answer_api_says_how_to_set_one(owner: PgPool) {
    let scene = Scene::new(owner, Role::Support).await;
    let how = "quittance source answers set acme --url URL";
    let page = scene.get(&format!("/jobs/{}", scene.job)).await;
    assert!(
        page.contains(how) && !page.contains("Ask the provider now"),
        "{page}"
    );
    assert!(
        scene
            .ask()
            .await
            .contains("Nobody was asked: the source acme has no answer API")
    );
    scene.set_api().await;
    scene.provider.will(Reply::body(&running()));
    assert!(scene.ask().await.contains("the work goes on"));
    assert!(
        scene
            .get("/sources")
            .await
            .contains(&format!("asked at {}", scene.provider.base))
    );
    let engine = &scene.house.engine;
    assert!(engine.remove_answer_api("acme", "test").await.unwrap());
    assert!(!engine.remove_answer_api("acme", "test").await.unwrap());
    scene.wait(60);
    assert!(scene.ask().await.contains("has no answer API"));
    scene.set_api().await;
    engine.disable_source("acme", "test").await.unwrap();
    assert!(
        scene
            .ask()
            .await
            .contains("the source acme is switched off")
    );
    assert_eq!(scene.provider.asked().len(), 1);
}
