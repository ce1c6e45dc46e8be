//! A room: a house where every form of the console has something to be about.

use axum::http::Method;
use domain::{
    adapter::{Adapter, Incoming},
    canonical::Hash,
    exception::{Cause, Reach},
    id::{MatchId, StatementId},
    statement::Tolerance,
};
use engine::{
    inbox::{Delivery, InboxWriter, WriterSettings},
    source::AnswerApi,
    statement::NewStatement,
    worker::{Settings, settle::Settler},
};
use serde_json::json;
use sqlx::PgPool;

use crate::{
    desk::{Desk, between},
    house::{House, master},
};

/// A house where every form has something to be about.
pub struct Room {
    pub house: House,
    /// A goodwill of an administrator that waits for someone else.
    pub action: String,
    /// An event that was rejected.
    pub event: String,
    /// An open exception that can be put right from here.
    pub exception: i64,
    /// A task that was not started.
    pub task: String,
    /// A statement of 1 image each for t-1 and t-2, where we used 1 each for r-1 and r-2.
    pub told: String,
    /// A match of t-2 and r-2 in it.
    pub matched: String,
    /// A job that a provider has.
    pub job: String,
}

impl Room {
    /// Nothing waits in it yet.
    pub async fn new(owner: PgPool) -> Self {
        let house = House::new(owner).await;
        house.source("gateway").await;
        house.grant("100", None).await;
        let told = told(&house).await;
        let event = rejected(&house).await;
        let exception = broken(&house).await;
        Self {
            house,
            action: String::new(),
            event,
            exception,
            task: String::new(),
            told,
            matched: String::new(),
            job: String::new(),
        }
    }

    /// What waits is made by an administrator.
    pub async fn fill(&mut self, admin: &Desk<'_>) {
        let place = format!("/wallets/{}", self.house.wallet);
        let form = "action=goodwill&amount=80&category=incident&reason=Render+nodes+were+down";
        self.action = proposed(admin, &place, "goodwill", form).await;
        committed(admin, &self.action).await;
        let form = format!(
            "step=repair&id={}&key={}",
            self.exception,
            uuid(&self.house)
        );
        let (place, _) = admin.send("/exceptions/act", &form).await;
        self.task = place.strip_prefix("/tasks/").unwrap().to_owned();
        self.matched = MatchId(self.house.engine.mint()).to_string();
        let form = format!(
            "key={}&meter=images&part=t-2&part=r-2&reason=They+bill+it+under+their+own+id",
            self.matched
        );
        let matches = format!("/statements/{}/matches", self.told);
        let (_, said) = admin.send(&matches, &form).await;
        assert!(said.contains("Matched, and checked anew"), "{said}");
        self.job = handed_over(&self.house).await;
    }

    /// A text of a form, about what is here.
    pub fn about(&self, text: &str) -> String {
        let mint = || self.house.engine.mint();
        text.replace("{wallet}", &self.house.wallet.to_string())
            .replace("{tenant}", &self.house.tenant.to_string())
            .replace("{action}", &self.action)
            .replace("{event}", &self.event)
            .replace("{exception}", &self.exception.to_string())
            .replace("{task}", &self.task)
            .replace("{told}", &self.told)
            .replace("{matched}", &self.matched)
            .replace("{match}", &MatchId(mint()).to_string())
            .replace("{job}", &self.job)
            .replace("{key}", &domain::id::ActionId(mint()).to_string())
            .replace("{statement}", &domain::id::StatementId(mint()).to_string())
            .replace("{uuid}", &mint().to_string())
    }
}

/// A job that a provider has, which is not there when it is asked.
async fn handed_over(house: &House) -> String {
    let job = house.submitted("asked", "1").await;
    let reference = json!({ "source": "gateway", "provider_reference": "asked-1" });
    let path = format!("/v1/jobs/{job}/provider-reference");
    house.call(Method::PUT, &path, Some(reference)).await;
    let api = AnswerApi {
        base: "http://127.0.0.1:1".parse().unwrap(),
        token: "token".to_owned(),
    };
    let master = master();
    let set = house
        .engine
        .set_answer_api(&master, "gateway", &api, "test");
    set.await.unwrap();
    job
}

/// A key as forms of exceptions and tasks carry it.
pub fn uuid(house: &House) -> String {
    house.engine.mint().to_string()
}

/// An event that nothing could be done with.
async fn rejected(house: &House) -> String {
    let id: i64 = sqlx::query_scalar(
        "INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference,
                             received_at, shard, state, reason, decided_at)
         SELECT source_id, false, 'e0', sha256('a'), sha256('a'), 'job.succeeded', 'r-0', created_at, 0, 'rejected',
                'unknown_job', created_at FROM sources
         RETURNING event_id",
    )
    .fetch_one(&house.owner)
    .await
    .unwrap();
    domain::id::EventId(id).to_string()
}

/// A statement that names by other references what we used.
async fn told(house: &House) -> String {
    for reference in ["r-1", "r-2"] {
        used(house, reference).await;
    }
    let new = NewStatement {
        key: StatementId(house.engine.mint()),
        source: "gateway".into(),
        livemode: false,
        period: "2026-11-01/2026-12-01".parse().unwrap(),
        tolerance: Tolerance::default(),
        file_name: "gateway.csv".into(),
    };
    let file = std::io::Cursor::new("reference,meter,quantity\nt-1,images,1\nt-2,images,1\n");
    let imported = house.engine.import_statement(&new, file, None).await;
    imported.unwrap().statement.id.to_string()
}

/// A job of this reference that used one image.
async fn used(house: &House, reference: &str) {
    let job = house.submitted(reference, "1").await;
    let attach = json!({ "source": "gateway", "provider_reference": reference });
    let path = format!("/v1/jobs/{job}/provider-reference");
    let attached = house.call(Method::PUT, &path, Some(attach)).await;
    assert_eq!(attached.status, 200, "{}", attached.text);
    let now = house.engine.clock().now();
    let body = json!({
        "type": "job.succeeded", "occurred_at": now.to_rfc3339(),
        "data": { "job_id": job, "usage": { "images": "1" } },
    })
    .to_string();
    let incoming = Incoming {
        delivery_id: Some(reference),
        job_parameter: None,
        body: &body,
    };
    let settings = WriterSettings::default();
    let (inbox, tasks) = InboxWriter::start(house.engine.pool().clone(), settings, |_| {});
    let delivery = Delivery {
        source: house.engine.source("gateway").await.unwrap().id,
        source_slug: "gateway".into(),
        livemode: false,
        envelope: Adapter::Generic.envelope(&incoming).unwrap(),
        raw_hash: Hash::of_bytes(body.as_bytes()),
        body: body.into(),
        headers: "[]".into(),
        sender_id: None,
        remote_address: None,
        status: 202,
        received_at: now,
        asked: false,
    };
    inbox.accept(delivery).await.unwrap();
    tasks.drain().await;
    let one_shard = Settings {
        shards: 1,
        ..Settings::default()
    };
    let settler = Settler::new(house.engine.clone(), one_shard, 0);
    while settler.work().await.unwrap() > 0 {}
    let charged = "SELECT count(*) FROM jobs WHERE state = 'completed'";
    assert!(house.count(charged).await > 0);
}

/// A balance that was changed below the application, and its exception.
async fn broken(house: &House) -> i64 {
    let tamper = "UPDATE balances SET balance = balance + 1
                  WHERE account_id = (SELECT account_id FROM accounts WHERE wallet_id = $1 AND kind = 'available')";
    let tampered = sqlx::query(tamper)
        .bind(house.wallet.0)
        .execute(&house.owner);
    assert_eq!(tampered.await.unwrap().rows_affected(), 1);
    reconciled(house).await;
    let find =
        "SELECT exception_id FROM exceptions WHERE class = 'balance_is_the_sum_of_its_transfers'";
    house.count(find).await
}

/// Runs a reconciliation over everything.
pub async fn reconciled(house: &House) {
    let run = house
        .engine
        .reconcile(Cause::CommandLine, Some(Reach::Full), None);
    run.await.unwrap();
}

/// Sends an action's form with the key its page was drawn with; the action's id.
pub async fn proposed(desk: &Desk<'_>, place: &str, action: &str, form: &str) -> String {
    let page = desk.get(&format!("{place}/{action}")).await;
    let key = between(&page.text, "name=\"key\" value=\"", "\"").to_owned();
    // What is about a job is posted to its wallet.
    let post = between(&page.text, "action=\"/", "/actions\"")
        .rsplit('"')
        .next();
    let post = format!("/{}/actions", post.unwrap().trim_start_matches('/'));
    let (led, _) = desk.send(&post, &format!("key={key}&{form}")).await;
    assert_eq!(led, format!("/actions/{key}"));
    key
}

/// Commits what an action's page shows; what is said then.
pub async fn committed(desk: &Desk<'_>, action: &str) -> String {
    let place = format!("/actions/{action}");
    let page = desk.get(&place).await.text;
    let basis = between(&page, "name=\"basis\" value=\"", "\"");
    let form = format!("basis={basis}&{}", typed(action));
    let (_, said) = desk.send(&format!("{place}/commit"), &form).await;
    said
}

/// What a person types to confirm an action: the end of its key.
pub fn typed(action: &str) -> String {
    format!("confirm={}", &action[action.len() - 6..])
}

/// Everything that is stored, but what sessions keep for their next page.
pub async fn everything(house: &House) -> String {
    let hashes = "SELECT string_agg(tablename || md5(query_to_xml(
                      format('SELECT t::text FROM public.%I t ORDER BY 1', tablename), false, true, '')::text), ' '
                      ORDER BY tablename)
                  FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('sessions', 'sign_in_failures')";
    sqlx::query_scalar(hashes)
        .fetch_one(&house.owner)
        .await
        .unwrap()
}
