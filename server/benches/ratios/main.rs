//! What the product does in a second, as ratios to plain SQL on the same database in the same run.
//!
//! References are pgbench scripts in `sql/`: a single-row insert for the accept path; the same writes as
//! one-job transactions, and as one bare set-based statement, for the settle path. Every figure is the
//! median of interleaved repetitions. Absolute numbers say something about the machine only.
#![expect(
    clippy::float_arithmetic,
    reason = "speeds and latencies; no money is computed here"
)]

mod accept;
mod load;
mod memory;
mod pgbench;
mod recon;
mod report;
mod settle;
mod size;

use std::{env, error::Error, path::PathBuf, process::ExitCode};

use clap::Parser;
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};

/// Anything that ends the benchmark.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// Ends the benchmark with a message.
pub(crate) fn fail<T>(message: String) -> Result<T, Failure> {
    Err(message.into())
}

/// Which part to run, and for how long.
#[derive(Parser)]
pub(crate) struct Options {
    /// Parts to run: accept, settle, recon, size. All when left out.
    parts: Vec<String>,
    /// Repetitions of each cell.
    #[arg(long, default_value_t = 3)]
    repetitions: usize,
    /// Seconds of each cell of the accept part.
    #[arg(long, default_value_t = 3)]
    seconds: u32,
    /// Jobs in each cell of the settle part.
    #[arg(long, default_value_t = 20_000)]
    jobs: u32,
    /// Settlements in the books of the recon part.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u32,
    /// Directory of the built front end.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/site"))]
    site: PathBuf,
    /// Cargo passes this; it means nothing here.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn runs(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|chosen| chosen == part)
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() -> ExitCode {
    match run(&Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("the benchmark failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: &Options) -> Result<(), Failure> {
    let cluster = Cluster::from_environment()?;
    let mut lines = Vec::new();
    // First, because it is quick and fails when the front end is not built.
    if options.runs("size") {
        lines.extend(size::measure(&options.site)?);
    }
    if options.runs("accept") {
        lines.extend(accept::measure(options, &cluster).await?);
    }
    if options.runs("settle") {
        lines.extend(settle::measure(options, &cluster).await?);
    }
    if options.runs("recon") {
        lines.extend(recon::measure(options, &cluster).await?);
    }
    report::print(&lines);
    Ok(())
}

/// The PostgreSQL that everything runs on; each cell gets a database of its own.
pub(crate) struct Cluster {
    admin: PgConnectOptions,
}

impl Cluster {
    fn from_environment() -> Result<Self, Failure> {
        match env::var("DATABASE_URL") {
            Ok(url) => Ok(Self {
                admin: url.parse()?,
            }),
            Err(_) => {
                fail("DATABASE_URL must name a database whose role may create others".to_owned())
            }
        }
    }

    /// Makes a migrated database.
    pub(crate) async fn create(&self, name: &str) -> Result<PgConnectOptions, Failure> {
        self.drop(name).await?;
        self.execute(format!("CREATE DATABASE {name}")).await?;
        let options = self.options(name);
        engine::database::migrate(&options).await?;
        Ok(options)
    }

    /// Drops it again.
    pub(crate) async fn drop(&self, name: &str) -> Result<(), Failure> {
        self.execute(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            .await
    }

    /// How to connect to a database of the cluster.
    pub(crate) fn options(&self, name: &str) -> PgConnectOptions {
        self.admin.clone().database(name)
    }

    /// The same as an address, for programs: without what only this driver understands.
    pub(crate) fn url(&self, name: &str) -> String {
        use sqlx::ConnectOptions as _;
        let mut url = self.options(name).to_url_lossy();
        let known: Vec<_> = url
            .query_pairs()
            .filter(|(name, _)| name != "statement-cache-capacity")
            .map(|(name, value)| (name.into_owned(), value.into_owned()))
            .collect();
        url.query_pairs_mut().clear().extend_pairs(known);
        url.to_string()
    }

    async fn execute(&self, sql: String) -> Result<(), Failure> {
        let mut connection = PgConnection::connect_with(&self.admin).await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql))
            .execute(&mut connection)
            .await?;
        connection.close().await?;
        Ok(())
    }
}
