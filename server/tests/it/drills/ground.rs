//! What a drill stands on: a database with one funded tenant, and processes of the real program.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use domain::{
    adapter::Adapter,
    decide::{LateCancel, Overage, Partial, Policy},
    money::Amount,
    price::{Component, Terms},
    signature::Scheme,
    usage::Usage,
};
use engine::{
    Engine, api_key, books,
    clock::Clock,
    price,
    source::{MasterKey, NewSource},
    tenant, wallet,
};
use sqlx::{ConnectOptions as _, PgPool, postgres::PgConnectOptions};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    sync::mpsc,
    time::timeout,
};

/// How long anything may take before a drill fails.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
/// What every webhook is signed with.
pub(super) const SECRET: &str = "whsec_ZHJpbGxzIGFyZSBzaWduZWQgd2l0aCB0aGlzIHNlY3JldA==";
/// The installation's key, for the processes and for us.
const MASTER_KEY: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A database with a tenant, a wallet, a price and a source in it.
pub(super) struct Ground {
    pub(super) engine: Engine,
    pub(super) api_key: String,
    pub(super) wallet: String,
    options: PgConnectOptions,
    dir: PathBuf,
}

impl Ground {
    /// In the database of a test.
    pub(super) async fn of(pool: &PgPool) -> Self {
        Self::with((*pool.connect_options()).clone()).await
    }

    /// In a PostgreSQL of its own, which the drill may damage.
    pub(super) async fn with_cluster() -> (Self, embedded::Cluster) {
        let start = || embedded::Cluster::temporary(embedded::Profile::Durable);
        let cluster = tokio::task::spawn_blocking(start).await.unwrap().unwrap();
        let options: PgConnectOptions = cluster.url().parse().unwrap();
        engine::database::migrate(&options).await.unwrap();
        (Self::with(options).await, cluster)
    }

    async fn with(options: PgConnectOptions) -> Self {
        // The HTTP client asks for it; an error means that another drill was first.
        rustls::crypto::ring::default_provider()
            .install_default()
            .unwrap_or_default();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::SeqCst);
        let dir =
            std::env::temp_dir().join(format!("quittance-drill-{}-{number}", std::process::id()));
        let pool = engine::database::connect(&options, 2).await.unwrap();
        let engine = Engine::new(pool, Clock::system());
        let (wallet, api_key) = furnish(&engine).await;
        Self {
            engine,
            api_key,
            wallet,
            options,
            dir,
        }
    }

    /// Where its server is.
    pub(super) fn database_address(&self) -> SocketAddr {
        format!("{}:{}", self.options.get_host(), self.options.get_port())
            .parse()
            .unwrap()
    }

    /// Starts the program in some roles, with some environment.
    pub(super) async fn serve(&self, roles: &str, environment: &[(&str, &str)]) -> Process {
        self.start(roles, &self.options, environment).await
    }

    /// Starts the program so that it reaches the database by way of `proxy`.
    pub(super) async fn serve_through(&self, roles: &str, proxy: SocketAddr) -> Process {
        let options = self
            .options
            .clone()
            .host(&proxy.ip().to_string())
            .port(proxy.port());
        self.start(roles, &options, &[]).await
    }

    async fn start(
        &self,
        roles: &str,
        options: &PgConnectOptions,
        environment: &[(&str, &str)],
    ) -> Process {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--only", roles];
        let mut process = self.spawn(&arguments, options, environment);
        let line = process.until_it_says("http://").await;
        process.base_url = line[line.find("http://").unwrap()..].trim().to_owned();
        process
    }

    /// Starts a command of the program.
    pub(super) fn command(&self, name: &str) -> Process {
        self.spawn(&[name], &self.options, &[])
    }

    fn spawn(
        &self,
        arguments: &[&str],
        options: &PgConnectOptions,
        environment: &[(&str, &str)],
    ) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_quittance"))
            .args(arguments)
            .arg("--data-dir")
            .arg(&self.dir)
            .env("DATABASE_URL", options.to_url_lossy().as_str())
            .env("QUITTANCE_MASTER_KEY", MASTER_KEY)
            .env("RUST_LOG", "warn")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (lines, said) = mpsc::unbounded_channel();
        for output in [
            Box::new(child.stdout.take().unwrap()) as Box<dyn tokio::io::AsyncRead + Send + Unpin>,
            Box::new(child.stderr.take().unwrap()),
        ] {
            let lines = lines.clone();
            tokio::spawn(async move {
                let mut output = BufReader::new(output).lines();
                while let Ok(Some(line)) = output.next_line().await {
                    lines.send(line).unwrap_or_default();
                }
            });
        }
        Process {
            child,
            said,
            base_url: String::new(),
            client: reqwest::Client::new(),
        }
    }

    /// Adds a source whose public keys are somewhere else.
    pub(super) async fn add_source_with_jwks_at(&self, slug: &str, url: &str) {
        let new = NewSource {
            livemode: true,
            jwks_url: Some(url.to_owned()),
            account: Some("drill".to_owned()),
            ..NewSource::new(slug, Adapter::Generic, Scheme::FalEd25519)
        };
        self.engine.add_source(&new, "drill").await.unwrap();
    }

    /// Waits until no event is due.
    pub(super) async fn until_quiet(&self) {
        let begun = Instant::now();
        while self.engine.events_due().await.unwrap() > 0 {
            assert!(begun.elapsed() < LIMIT, "events are still due");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The books add up, and there is one event and one capture a job.
    pub(super) async fn assert_books(&self, jobs: &[String]) {
        let report = books::verify(self.engine.pool()).await.unwrap();
        assert!(report.in_order(), "{:?}", report.breaks);
        let totals = self.engine.inbox_totals().await.unwrap();
        assert_eq!(
            totals.events,
            i64::try_from(jobs.len()).unwrap(),
            "one event a job"
        );
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // Nothing is in it when the key came by the environment; then there is nothing to remove.
        std::fs::remove_dir_all(&self.dir).unwrap_or_default();
    }
}

async fn furnish(engine: &Engine) -> (String, String) {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Capture,
        partial: Partial::Bill,
    };
    let new = tenant::NewTenant {
        name: "Drill".to_owned(),
        in_flight_limit: 10_000,
        max_quote: None,
        refund_on_failure: true,
        policy,
    };
    let currency = "USD".parse().unwrap();
    let mut tx = engine.pool().begin().await.unwrap();
    let tenant = tenant::add(&mut tx, engine, &new).await.unwrap();
    let wallet = wallet::open(&mut tx, engine, tenant, "Drill", currency, true)
        .await
        .unwrap();
    let credit = wallet::Grant {
        tenant,
        wallet,
        key: "for drills".to_owned(),
        amount: Amount::exact("10000".parse().unwrap(), currency).unwrap(),
        expires_at: None,
        note: "for drills".to_owned(),
        action: None,
    };
    wallet::grant(&mut tx, engine, &credit).await.unwrap();
    let terms = Terms {
        components: vec![Component {
            meter: "images".parse().unwrap(),
            price: "0.5".parse().unwrap(),
            per: "1".parse().unwrap(),
        }],
        rounding: Default::default(),
        estimate: Usage::parse([("images", "4")]).unwrap(),
    };
    let from = engine.clock().now();
    price::add(
        &mut tx,
        engine,
        ("imagine", currency),
        &terms,
        from,
        "drill",
    )
    .await
    .unwrap();
    let api_key = api_key::mint(&mut tx, engine, tenant, "drill", true)
        .await
        .unwrap()
        .to_string();
    tx.commit().await.unwrap();
    let source = NewSource {
        livemode: true,
        ..NewSource::new("drill", Adapter::Generic, Scheme::StandardWebhooksV1)
    };
    engine.add_source(&source, "drill").await.unwrap();
    let master = MasterKey::from_hex(MASTER_KEY).unwrap();
    engine
        .add_source_secret(&master, "drill", SECRET, "drill")
        .await
        .unwrap();
    (wallet.to_string(), api_key)
}

/// A server that takes connections and never says anything.
pub(super) async fn hung_endpoint() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            held.push(connection);
        }
    });
    address
}

/// A running program; it is killed when dropped.
pub(super) struct Process {
    pub(super) base_url: String,
    pub(super) client: reqwest::Client,
    child: Child,
    said: mpsc::UnboundedReceiver<String>,
}

impl Process {
    /// Waits for a line that holds this text.
    pub(super) async fn until_it_says(&mut self, text: &str) -> String {
        let mut before = Vec::new();
        let awaited = async {
            while let Some(line) = self.said.recv().await {
                if line.contains(text) {
                    return Some(line);
                }
                before.push(line);
            }
            None
        };
        match timeout(LIMIT, awaited).await {
            Ok(Some(line)) => line,
            Ok(None) | Err(_) => panic!(
                "the process never said {text:?}, but:\n{}",
                before.join("\n")
            ),
        }
    }

    /// Waits until it ends by itself; its status.
    pub(super) async fn ends_with(&mut self) -> Option<i32> {
        let end = timeout(LIMIT, self.child.wait()).await;
        end.expect("it never ended").unwrap().code()
    }

    /// SIGKILL, and waits until it is gone.
    pub(super) async fn kill(&mut self) {
        self.child.kill().await.unwrap();
    }
}
