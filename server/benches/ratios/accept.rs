//! G1 to G3 and G17: accepted deliveries a second over HTTP.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use base64::Engine as _;
use domain::{adapter::Adapter, signature::Scheme};
use engine::{
    Engine,
    clock::Clock,
    database,
    source::{MasterKey, NewSource},
};
use sqlx::{ConnectOptions as _, PgConnection};

use crate::{
    Cluster, Failure, Options, fail,
    load::{self, Outcome, Sender},
    memory,
    pgbench::{self, Extent, Rate},
    report::{Line, Target, median},
};

const NAME: &str = "quittance_bench_accept";
const SECRET: &[u8] = b"a secret of the benchmark, 32 b.";

/// What the reference inserts: about as much as a delivery is, one row and one commit each.
const REFERENCE: &str = r#"\set k random(1, 9000000000000000)
INSERT INTO bench_reference (event_key, payload) VALUES ('evt_' || :k::bigint, '{"type":"job.succeeded","occurred_at":"2026-11-30T20:55:00Z","data":{"provider_reference":"ref_0000018273","model":"m-large","usage":{"images": "1","input_tokens": "1834"}},"trace":"4bf92f3577b34da6a3ce929d0e0e4736","region":"eu-west","customer":"cus_0000018273"}') ON CONFLICT DO NOTHING;
"#;

/// Connections of the receiver, connections of pgbench, and the goal.
const LEVELS: [(usize, u32, f64); 4] =
    [(8, 8, 0.60), (32, 32, 1.0), (64, 64, 1.3), (256, 128, 1.7)];

/// One level of concurrency over all repetitions.
#[derive(Default)]
struct Level {
    ours: Vec<f64>,
    ours_p99: Vec<f64>,
    alone: Vec<f64>,
    reference: Vec<f64>,
    reference_p99: Vec<f64>,
}

/// Measures every level, interleaved.
pub(crate) async fn measure(options: &Options, cluster: &Cluster) -> Result<Vec<Line>, Failure> {
    let ground = Ground::prepare(cluster).await?;
    let mut levels: [Level; LEVELS.len()] = Default::default();
    let mut commits_per_accept = Vec::new();
    let mut memory = Memory::default();
    for repetition in 1..=options.repetitions {
        for ((connections, clients, _), level) in LEVELS.into_iter().zip(&mut levels) {
            eprintln!(
                "accept: repetition {repetition} of {}, {connections} connections",
                options.repetitions
            );
            let plain = ground.reference(cluster, clients, options.seconds)?;
            level.reference.push(plain.per_second);
            level.reference_p99.push(plain.p99_ms);
            let run = ground
                .product(cluster, connections, options.seconds, 256)
                .await?;
            level.ours.push(run.outcome.per_second);
            level.ours_p99.push(run.outcome.p99_ms);
            memory.see(connections, &run);
            if connections == 64 {
                commits_per_accept.push(run.commits as f64 / run.outcome.accepted as f64);
            }
            if matches!(connections, 32 | 64) {
                level.alone.push(
                    ground
                        .product(cluster, connections, options.seconds, 1)
                        .await?
                        .outcome
                        .per_second,
                );
            }
        }
    }
    cluster.drop(NAME).await?;
    Ok(lines(levels, median(commits_per_accept), &memory))
}

fn lines(levels: [Level; LEVELS.len()], commits_per_accept: f64, memory: &Memory) -> Vec<Line> {
    let line = |goal, what: String, ours, reference, target| Line {
        goal,
        what,
        ours,
        reference,
        target,
    };
    let mut lines = Vec::new();
    for ((connections, clients, target), level) in LEVELS.into_iter().zip(&levels) {
        let what =
            format!("accept, {connections} connections / single-row inserts, {clients} clients");
        lines.push(line(
            "G1",
            what,
            median(level.ours.clone()),
            median(level.reference.clone()),
            Target::AtLeast(target),
        ));
    }
    for (at, target) in [(1, 1.6), (2, 2.0)] {
        let what = format!(
            "accept, {} connections, shared commits / one commit each",
            LEVELS[at].0
        );
        lines.push(line(
            "G2",
            what,
            median(levels[at].ours.clone()),
            median(levels[at].alone.clone()),
            Target::AtLeast(target),
        ));
    }
    let (ours, reference) = (
        median(levels[1].ours_p99.clone()),
        median(levels[1].reference_p99.clone()),
    );
    lines.push(line(
        "G3",
        "accept p99 ms, 32 connections / single-row inserts".to_owned(),
        ours,
        reference,
        Target::AtMost(1.0),
    ));
    lines.push(line(
        "G3",
        "commits per accepted delivery, 64 connections".to_owned(),
        commits_per_accept,
        0.0,
        Target::AtMost(0.125),
    ));
    lines.push(line(
        "G17",
        "receiver memory MB, 256 connections saturated".to_owned(),
        memory.most_mb,
        0.0,
        Target::AtMost(32.0),
    ));
    lines.push(line(
        "G17",
        "receiver memory MB, end of run / start of run".to_owned(),
        memory.last_mb,
        memory.first_mb,
        Target::AtMost(1.1),
    ));
    lines
}

/// Memory of the receiver's process at 256 connections.
#[derive(Default)]
struct Memory {
    most_mb: f64,
    first_mb: f64,
    last_mb: f64,
}

impl Memory {
    fn see(&mut self, connections: usize, run: &Run) {
        if connections == 256 {
            self.most_mb = self.most_mb.max(run.after_mb);
            (self.first_mb, self.last_mb) = (run.halfway_mb, run.after_mb);
        }
    }
}

/// One run against a receiver of its own.
struct Run {
    outcome: Outcome,
    commits: i64,
    halfway_mb: f64,
    after_mb: f64,
}

/// A database with a source, and the directory of the key its secret is sealed with.
struct Ground {
    data_dir: PathBuf,
}

impl Ground {
    async fn prepare(cluster: &Cluster) -> Result<Self, Failure> {
        let options = cluster.create(NAME).await?;
        let mut connection = options.connect().await?;
        let table = "CREATE TABLE bench_reference (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
                     event_key text NOT NULL UNIQUE, payload jsonb NOT NULL, received_at timestamptz NOT NULL DEFAULT now())";
        sqlx::raw_sql(table).execute(&mut connection).await?;
        let data_dir =
            std::env::temp_dir().join(format!("quittance-bench-data-{}", std::process::id()));
        fs::create_dir_all(&data_dir)?;
        let key = MasterKey::load_or_create(&data_dir.join("master.key"))?;
        let engine = Engine::new(database::connect(&options, 2).await?, Clock::system());
        let bench = NewSource::new("bench", Adapter::Generic, Scheme::StandardWebhooksV1);
        let secret = format!(
            "whsec_{}",
            base64::engine::general_purpose::STANDARD.encode(SECRET)
        );
        engine.add_source(&bench, "benchmark").await?;
        engine
            .add_source_secret(&key, "bench", &secret, "benchmark")
            .await?;
        engine.pool().close().await;
        Ok(Self { data_dir })
    }

    fn reference(&self, cluster: &Cluster, clients: u32, seconds: u32) -> Result<Rate, Failure> {
        pgbench::run(
            &cluster.url(NAME),
            REFERENCE,
            clients,
            Extent::Seconds(seconds),
            &[],
        )
    }

    /// Starts a receiver, loads it, and counts what the database committed meanwhile.
    async fn product(
        &self,
        cluster: &Cluster,
        connections: usize,
        seconds: u32,
        rows: usize,
    ) -> Result<Run, Failure> {
        let receiver = Receiver::start(cluster, &self.data_dir, rows).await?;
        let mut watch = cluster.options(NAME).connect().await?;
        let (commits, events) = (commits(&mut watch).await?, events(&mut watch).await?);
        let sender = |half: u8| Sender {
            address: receiver.address,
            path: "/webhooks/bench".to_owned(),
            key: Arc::new(SECRET.to_vec()),
            run: format!("{connections}x{rows}-{half}-{}", receiver.child.id()),
        };
        let half = Duration::from_millis(u64::from(seconds) * 500);
        let first = load::closed_loop(&sender(1), connections, half).await?;
        let halfway_mb = receiver.memory_mb()?;
        let second = load::closed_loop(&sender(2), connections, half).await?;
        let after_mb = receiver.memory_mb()?;
        let stored = self::events(&mut watch).await? - events;
        let accepted = first.accepted + second.accepted;
        if stored < i64::try_from(accepted)? {
            return fail(format!(
                "{accepted} deliveries were accepted and {stored} stored"
            ));
        }
        tokio::time::sleep(Duration::from_millis(1100)).await; // PostgreSQL reports its counters once a second.
        let commits = self::commits(&mut watch).await? - commits;
        let outcome = Outcome {
            accepted,
            per_second: (first.per_second + second.per_second) / 2.0,
            p99_ms: first.p99_ms.max(second.p99_ms),
        };
        Ok(Run {
            outcome,
            commits,
            halfway_mb,
            after_mb,
        })
    }
}

async fn commits(watch: &mut PgConnection) -> Result<i64, Failure> {
    let count = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
    Ok(sqlx::query_scalar(count).fetch_one(watch).await?)
}

async fn events(watch: &mut PgConnection) -> Result<i64, Failure> {
    Ok(sqlx::query_scalar("SELECT count(*) FROM events")
        .fetch_one(watch)
        .await?)
}

/// A receiver in a process of its own.
struct Receiver {
    child: Child,
    address: SocketAddr,
}

impl Receiver {
    async fn start(cluster: &Cluster, data_dir: &PathBuf, rows: usize) -> Result<Self, Failure> {
        let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_quittance"));
        command
            .args([
                "serve",
                "--only",
                "receiver",
                "--listen",
                &address.to_string(),
                "--flush-rows",
                &rows.to_string(),
            ])
            .arg("--database-url")
            .arg(cluster.url(NAME))
            .arg("--data-dir")
            .arg(data_dir)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let receiver = Self {
            child: command.spawn()?,
            address,
        };
        let limit = Instant::now() + Duration::from_secs(30);
        while tokio::net::TcpStream::connect(address).await.is_err() {
            if Instant::now() > limit {
                return fail("the receiver did not start in half a minute".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(receiver)
    }

    /// Resident memory, as the kernel counts it.
    fn memory_mb(&self) -> Result<f64, Failure> {
        memory::resident_mb(&self.child.id().to_string())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // It has nothing left to lose; what it stored is committed.
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait().map(drop)) {
            eprintln!("the receiver could not be ended: {error}");
        }
    }
}
