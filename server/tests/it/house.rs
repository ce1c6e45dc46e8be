//! The house: the API and the console over a fresh database, called without a network, with one tenant
//! and a clock that stands still.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::ConnectInfo,
    http::{HeaderMap, Method, Request, StatusCode, header},
};
use chrono::{DateTime, Utc};
use domain::{
    decide::{LateCancel, Overage, Partial, Policy},
    id::{LotId, TenantId, WalletId},
    money::{Amount, Currency},
};
use engine::{
    Engine, api_key,
    clock::Clock,
    inbox::{InboxWriter, WriterSettings, WriterTasks},
    operator::{self, NewOperator, Role},
    price,
    source::MasterKey,
    tenant::{self, NewTenant},
    wallet,
};
use serde_json::{Value, json};
use server::{
    ask::Asker,
    config::{DataArgs, LogFormat, ServeArgs},
    console::{self, hub::Hub},
    http,
};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

/// The password of the operator that [`House::operator`] makes.
pub const PASSWORD: &str = "correct horse battery";

/// How long a provider may take to answer.
pub const ASK_LIMIT: Duration = Duration::from_millis(400);

/// One installation under test.
#[derive(Clone)]
pub struct House {
    /// Acts as the owner of the schema: for looking behind the curtain.
    pub owner: PgPool,
    /// The engine, acting as the application's role.
    pub engine: Engine,
    /// A tenant whose quotes may reach 50 USD, with at most 3 jobs in flight.
    pub tenant: TenantId,
    /// Its wallet, in USD, for tests, empty.
    pub wallet: WalletId,
    /// Its API key.
    pub key: String,
    routes: Router,
    /// Flushes for as long as the house stands.
    _inbox: Arc<WriterTasks>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body as text.
    pub text: String,
    /// Body as JSON; null when it is none.
    pub json: Value,
}

impl Answer {
    /// A header's value, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The status with the problem's slug, if it is one: `402 insufficient-funds`.
    pub fn outcome(&self) -> String {
        let slug = self.json["type"]
            .as_str()
            .and_then(|kind| kind.strip_prefix("/problems/"));
        match slug {
            Some(slug) => format!("{} {slug}", self.status.as_u16()),
            None => self.status.as_u16().to_string(),
        }
    }
}

/// When every story starts.
pub fn start() -> DateTime<Utc> {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

/// US dollars.
pub fn usd() -> Currency {
    "USD".parse().unwrap()
}

/// The key that secrets are sealed with.
pub fn master() -> MasterKey {
    MasterKey::from_hex(&"07".repeat(32)).unwrap()
}

fn args() -> ServeArgs {
    ServeArgs {
        data: DataArgs {
            database_url: None,
            data_dir: ".quittance".into(),
            master_key: Some(master()),
        },
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        metrics: None,
        reconcile_minutes: 0,
        uncertain_minutes: 60,
        proxies: 0,
        only: Vec::new(),
        public_url: None,
        site_root: "no-such-site".into(),
        hash_files: false,
        live: false,
        max_connections: 8,
        flush_rows: 256,
        api_rate_per_second: 1000,
        grace_seconds: 1,
        log_format: LogFormat::Pretty,
    }
}

impl House {
    /// A tenant with an empty wallet, a key, and the model `flux-pro` at 0.04 USD an image.
    pub async fn new(owner: PgPool) -> Self {
        let pool = engine::database::connect(&owner.connect_options(), 8)
            .await
            .unwrap();
        let engine = Engine::new(pool, Clock::manual(start()));
        let (tenant, wallet, key) = Self::tenant(&engine, "Acme").await;
        let terms = json!({
            "components": [{ "meter": "images", "price": "0.04", "per": "1" }],
            "estimate": { "images": "1" },
        });
        let terms = serde_json::from_value(terms).unwrap();
        let mut conn = engine.pool().acquire().await.unwrap();
        let of = ("flux-pro", usd());
        price::add(&mut conn, &engine, of, &terms, start(), "test")
            .await
            .unwrap();
        drop(conn);
        let hub = Arc::new(Hub::new(&engine, CancellationToken::new()));
        let (inbox, tasks) =
            InboxWriter::start(engine.pool().clone(), WriterSettings::default(), |_| ());
        let asker = Asker::new(engine.clone(), inbox, args().data, ASK_LIMIT).unwrap();
        let routes = http::problem::routes()
            .merge(http::api::routes(engine.clone(), 1000))
            .merge(console::routes(&args(), &engine, &hub, asker));
        let routes = http::layered(routes);
        Self {
            owner,
            engine,
            tenant,
            wallet,
            key,
            routes,
            _inbox: Arc::new(tasks),
        }
    }

    /// Another tenant with a wallet and a key.
    pub async fn tenant(engine: &Engine, name: &str) -> (TenantId, WalletId, String) {
        let mut conn = engine.pool().acquire().await.unwrap();
        let new = NewTenant {
            name: name.into(),
            in_flight_limit: 3,
            max_quote: Some(50.into()),
            refund_on_failure: true,
            policy: Policy {
                overage: Overage::Cap,
                late_cancel: LateCancel::Capture,
                partial: Partial::Bill,
            },
        };
        let tenant = tenant::add(&mut conn, engine, &new).await.unwrap();
        let wallet = wallet::open(&mut conn, engine, tenant, "Main", usd(), false)
            .await
            .unwrap();
        let key = api_key::mint(&mut conn, engine, tenant, "backend", false)
            .await
            .unwrap();
        (tenant, wallet, key.to_string())
    }

    /// Grants credit to the wallet.
    pub async fn grant(&self, amount: &str, expires_at: Option<DateTime<Utc>>) -> LotId {
        let grant = wallet::Grant {
            tenant: self.tenant,
            wallet: self.wallet,
            key: self.engine.mint().to_string(),
            amount: Amount::exact(amount.parse().unwrap(), usd()).unwrap(),
            expires_at,
            note: "test".into(),
            action: None,
        };
        self.engine.grant(&grant).await.unwrap()
    }

    /// Configures a source.
    pub async fn source(&self, slug: &str) {
        sqlx::query(
            "INSERT INTO sources (source_id, slug, name, adapter, scheme, livemode, created_at)
             VALUES ($1, $2, $2, 'generic', 'standard-webhooks-v1', false, $3)",
        )
        .bind(self.engine.mint())
        .bind(slug)
        .bind(start())
        .execute(&self.owner)
        .await
        .unwrap();
    }

    /// An operator named anna@example.org.
    pub async fn operator(&self) {
        let mut conn = self.engine.pool().acquire().await.unwrap();
        let new = NewOperator {
            email: "anna@example.org",
            name: "Anna Keller",
            role: Role::Admin,
            password: PASSWORD,
        };
        operator::add(&mut conn, &self.engine, &new).await.unwrap();
    }

    /// Somebody of this role, signed in; the cookie of the session.
    pub async fn signed_in(&self, role: Role) -> String {
        let email = format!("{role}@example.org");
        let mut conn = self.engine.pool().acquire().await.unwrap();
        let new = NewOperator {
            email: &email,
            name: "Anna Keller",
            role,
            password: PASSWORD,
        };
        operator::add(&mut conn, &self.engine, &new).await.unwrap();
        drop(conn);
        let password = PASSWORD.replace(' ', "+");
        let form = format!("email={role}%40example.org&password={password}&back=/");
        let request = Request::post("/sign-in")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap();
        let answer = self.send(request).await;
        let cookie = answer.header("set-cookie").split(';').next();
        cookie.unwrap().to_owned()
    }

    /// Sends a request as it is.
    pub async fn send(&self, mut request: Request<Body>) -> Answer {
        let from = SocketAddr::from(([203, 0, 113, 7], 40_000));
        request.extensions_mut().insert(ConnectInfo(from));
        let response = self.routes.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let json = serde_json::from_str(&text).unwrap_or_default();
        Answer {
            status,
            headers,
            text,
            json,
        }
    }

    /// Calls the API with a key.
    pub async fn call_with(
        &self,
        key: &str,
        method: Method,
        path: &str,
        body: Option<String>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {key}"));
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        self.send(
            request
                .body(body.map_or_else(Body::empty, Body::from))
                .unwrap(),
        )
        .await
    }

    /// Calls the API with the tenant's key.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Answer {
        self.call_with(&self.key, method, path, body.map(|body| body.to_string()))
            .await
    }

    /// The smallest job request.
    pub fn job(&self, client_request_id: &str, images: &str) -> Value {
        json!({
            "client_request_id": client_request_id,
            "user": "user_1",
            "wallet": self.wallet,
            "model": "flux-pro",
            "estimate": { "images": images },
        })
    }

    /// Submits a job.
    pub async fn submit(&self, client_request_id: &str, images: &str) -> Answer {
        self.call(
            Method::POST,
            "/v1/jobs",
            Some(self.job(client_request_id, images)),
        )
        .await
    }

    /// Submits a job that is accepted, and returns its id.
    pub async fn submitted(&self, client_request_id: &str, images: &str) -> String {
        let answer = self.submit(client_request_id, images).await;
        assert_eq!(answer.outcome(), "202", "{}", answer.text);
        answer.json["job"]["id"].as_str().unwrap().to_owned()
    }

    /// Every transfer in order: `reserve/1 hold available→held 0.16 (99.84, 0.16)`.
    pub async fn ledger(&self) -> String {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT format('%s/%s %s %s→%s %s (%s, %s)', s.phase, s.version, t.entry_type, d.kind, c.kind,
                           trim_scale(t.amount), coalesce(trim_scale(t.debit_balance)::text, '-'),
                           coalesce(trim_scale(t.credit_balance)::text, '-'))
             FROM transfers t JOIN settlements s USING (tenant_id, settlement_id)
             JOIN accounts d ON d.account_id = t.debit_account_id
             JOIN accounts c ON c.account_id = t.credit_account_id
             ORDER BY t.posting_id",
        )
        .fetch_all(&self.owner)
        .await
        .unwrap();
        rows.into_iter().map(|(line,)| line + "\n").collect()
    }

    /// A number asked of the database.
    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql)
            .fetch_one(&self.owner)
            .await
            .unwrap()
    }

    /// Asserts that the books are in order.
    pub async fn books_are_in_order(&self) {
        let report = engine::books::verify(&self.owner).await.unwrap();
        assert!(report.in_order(), "{:?}", report.breaks);
    }
}
