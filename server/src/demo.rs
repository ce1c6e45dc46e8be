//! `quittance demo`: the product with demo data and a simulated provider, to look at or to prove itself.
//!
//! The provider is a process of its own that knows an address and secrets and nothing else. Everything it
//! does is drawn from one seed, so the demo knows without asking what every job should have come to;
//! with `--exit` it waits until all is settled and compares.

mod cast;
mod crew;
mod history;
mod keepsake;
mod load;
mod names;
mod oracle;
mod payload;
mod plan;
mod proof;
mod provider;
mod rates;
mod screen;
mod show;
mod stopped;
mod trial;
mod wire;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};

use clap::{Args, Parser as _};
use engine::{Engine, source::MasterKey};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    config::{DataArgs, DatabaseUrl, ServeArgs},
    database::Database,
    outbound,
    serve::Server,
};

use crew::Crew;
use keepsake::Keepsake;
use rates::Rates;
use screen::Screen;
use wire::Part;

pub(crate) use provider::run as run_provider;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Jobs of the burst when nothing is said.
const BURST: u64 = 300;

/// Settings of `demo`.
#[derive(Clone, Debug, Args)]
pub(crate) struct DemoArgs {
    /// Jobs to submit at once. Without --exit, single ones follow.
    #[arg(long, value_name = "N", default_value_t = BURST, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    jobs: u64,

    /// What everything random is drawn from.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Wait until all is settled, verify the books and every job, and end: 0 when all is right.
    #[arg(long)]
    exit: bool,

    /// Address to listen on; 127.0.0.1:8420, or any free port with --exit.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// PostgreSQL to use, with an empty database; a private one when left out.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    database_url: Option<DatabaseUrl>,

    /// Directory of the demo's database and secrets; with --exit a new one that is removed afterwards.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// Jobs begun in a second at most; as many as the product takes when left out.
    #[arg(long, value_name = "JOBS", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rate: Option<u32>,

    #[command(flatten)]
    rates: Rates,
}

/// Settings of `serve` as they are when nothing is said, the environment considered.
#[derive(clap::Parser)]
struct Unsaid {
    #[command(flatten)]
    serve: ServeArgs,
}

/// A directory that is removed with its last user.
struct Scratch(Option<PathBuf>);

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(dir) = &self.0
            && let Err(error) = std::fs::remove_dir_all(dir)
        {
            eprintln!("{} could not be removed: {error}", dir.display());
        }
    }
}

/// Runs the demo to its end.
///
/// # Errors
/// When it cannot run, or when `--exit` finds anything that is not as it should be.
pub(crate) async fn run(args: DemoArgs) -> Result<(), Failure> {
    outbound::choose_cryptography();
    let scratch = args.exit && args.data_dir.is_none();
    let dir = match &args.data_dir {
        Some(dir) => dir.clone(),
        None if args.exit => {
            std::env::temp_dir().join(format!("quittance-demo-{}", load::random::<6>()?))
        }
        None => PathBuf::from(".quittance/demo"),
    };
    let _scratch = Scratch(scratch.then(|| dir.clone()));
    std::fs::create_dir_all(&dir)?;
    show::rates(&args.rates, args.seed, args.jobs);
    println!("database     starting and migrating …");
    let data = DataArgs {
        database_url: args.database_url.clone(),
        data_dir: dir.clone(),
        master_key: None,
    };
    let database = Database::open(&data).await?;
    let outcome = with_database(&args, &dir, &database).await;
    database.close().await?;
    outcome
}

async fn with_database(args: &DemoArgs, dir: &Path, database: &Database) -> Result<(), Failure> {
    database.migrate().await?;
    let serve = settings(args, dir, database)?;
    let master = serve.data.master_key()?;
    // Connections of its own, so that asking how things stand never waits for the product's.
    let engine = database.engine(4).await?;
    let keepsake = load::ensure(&engine, &master, dir).await?;
    let server = Server::start(&serve).await?;
    let outcome = with_server(args, (&engine, &master), server.address(), &keepsake).await;
    println!("stopping …");
    server.stop().await?;
    engine.pool().close().await;
    outcome
}

fn settings(args: &DemoArgs, dir: &Path, database: &Database) -> Result<ServeArgs, Failure> {
    let Unsaid { mut serve } = Unsaid::try_parse_from(["quittance"])?;
    serve.data = DataArgs {
        database_url: Some(database.options().clone().into()),
        data_dir: dir.to_owned(),
        ..serve.data
    };
    let port = if args.exit { 0 } else { 8420 };
    serve.listen = args
        .listen
        .unwrap_or_else(|| (Ipv4Addr::LOCALHOST, port).into());
    serve.only = Vec::new();
    serve.live = true;
    // Nobody looks at a demo for an hour before something is uncertain.
    serve.uncertain_minutes = 1;
    // The burst is a load on purpose.
    serve.api_rate_per_second = 1_000_000;
    Ok(serve)
}

async fn with_server(
    args: &DemoArgs,
    (engine, master): (&Engine, &MasterKey),
    address: SocketAddr,
    keepsake: &Keepsake,
) -> Result<(), Failure> {
    let part = Part {
        base_url: format!("http://{address}"),
        run: load::random::<3>()?,
        seed: args.seed,
        jobs: args.jobs,
        rate: args.rate,
        trickle: !args.exit,
        rates: args.rates,
        purses: keepsake.purses.clone(),
        mailboxes: keepsake.mailboxes.clone(),
        answer_token: load::random::<16>()?,
    };
    let mut screen = Screen::new();
    if !args.exit {
        show::welcome(&part, keepsake);
    }
    let before = trial::count(engine).await?;
    let mut crew = Crew::start(&part).await?;
    load::set_answer_apis(engine, master, crew.address().await?, &part.answer_token).await?;
    screen.line(&format!(
        "provider     process {}",
        crew.id().unwrap_or_default()
    ));
    tokio::select! {
        outcome = trial::run(engine, &part, (before, crew), &mut screen, args.exit) => outcome,
        stopped = interrupted() => {
            screen.line("interrupted");
            stopped.map_err(Failure::from).and(if args.exit { Err("interrupted before anything was verified".into()) } else { Ok(()) })
        }
    }
}

async fn interrupted() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
