//! The command line: one binary, one verb for each thing it can be asked to do.

mod admin;
mod freeze_rule;
mod operator;
mod reconcile;
mod seal;
mod signature;
mod source;
mod statement;
mod threshold;
mod verify;
mod wallet;

use std::{error::Error, future::Future, process::ExitCode};

use clap::{Parser, Subcommand};

use crate::{
    config::{DataArgs, LogFormat, ServeArgs},
    database::Database,
    demo::{self, DemoArgs},
    serve::Server,
    telemetry,
};

/// Worker threads at least: pages are rendered on them while they wait for one another.
const MIN_THREADS: usize = 4;

/// The system of record between asynchronous AI work and money.
// No `Debug`: arguments hold secrets.
#[derive(Parser)]
#[command(name = "quittance", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve webhooks, the API and the console, and settle what comes in.
    Serve(ServeArgs),
    /// Bring the database's schema up to date.
    Migrate(DataArgs),
    /// Check the books: balances against transfers, one capture a hold, holds accounted for.
    Verify(verify::VerifyArgs),
    /// Check every truth about the books, and keep what does not hold as exceptions.
    Reconcile(reconcile::ReconcileArgs),
    /// Work on tenants.
    #[command(subcommand)]
    Tenant(admin::TenantCommand),
    /// Work on wallets.
    #[command(subcommand)]
    Wallet(wallet::WalletCommand),
    /// Work on API keys.
    #[command(subcommand)]
    ApiKey(admin::ApiKeyCommand),
    /// Work on prices.
    #[command(subcommand)]
    Price(admin::PriceCommand),
    /// Work on approval thresholds: which actions of the console take two people.
    #[command(subcommand)]
    Threshold(threshold::ThresholdCommand),
    /// Work on the freeze rule: when reconciliation freezes a tenant by itself.
    #[command(subcommand)]
    FreezeRule(freeze_rule::FreezeRuleCommand),
    /// Work on operators.
    #[command(subcommand)]
    Operator(operator::OperatorCommand),
    /// Work on sources: the senders of webhooks.
    #[command(subcommand)]
    Source(source::SourceCommand),
    /// Work on statements: what providers say they did or billed, against our usage.
    #[command(subcommand)]
    Statement(statement::StatementCommand),
    /// Run with demo data and a simulated provider, to look at or to prove itself.
    Demo(Box<DemoArgs>),
    /// Play the demo's provider; the demo starts this by itself.
    #[command(hide = true)]
    DemoProvider,
    /// Work on seals: what proves that a settlement is sealed.
    #[command(subcommand)]
    Seal(seal::SealCommand),
    /// Work on webhook signatures.
    #[command(subcommand)]
    Signature(signature::SignatureCommand),
}

impl Cli {
    /// Runs the command and returns the process's exit status.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Serve(args) => block_on(args.log_format, serve(args)),
            Command::Migrate(data) => block_on(LogFormat::Pretty, migrate(data)),
            Command::Verify(args) => block_on(LogFormat::Pretty, verify::run(args)),
            Command::Reconcile(args) => block_on(LogFormat::Pretty, reconcile::run(args)),
            Command::Tenant(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Wallet(command) => block_on(LogFormat::Pretty, command.run()),
            Command::ApiKey(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Price(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Threshold(command) => block_on(LogFormat::Pretty, command.run()),
            Command::FreezeRule(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Operator(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Source(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Statement(command) => block_on_quietly(command.run()),
            Command::Demo(args) => block_on_quietly(demo::run(*args)),
            Command::DemoProvider => block_on_quietly(demo::run_provider()),
            Command::Seal(command) => block_on(LogFormat::Pretty, command.run()),
            Command::Signature(command) => command.run(),
        }
    }
}

/// What a command ends with; the text and its causes are printed.
type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

async fn serve(args: ServeArgs) -> Outcome {
    println!("{args}");
    let server = Server::start(&args).await?;
    println!("serving      http://{}", server.address());
    Ok(server.run().await?)
}

async fn migrate(data: DataArgs) -> Outcome {
    let database = Database::open(&data).await?;
    database.migrate().await?;
    database.close().await?;
    println!("the schema is up to date");
    Ok(())
}

/// Runs a command to its end.
fn block_on(format: LogFormat, command: impl Future<Output = Outcome>) -> ExitCode {
    telemetry::init_logs(format, telemetry::USUAL);
    conclude(command)
}

/// Runs a command whose own lines are what a person looks at.
fn block_on_quietly(command: impl Future<Output = Outcome>) -> ExitCode {
    telemetry::init_logs(LogFormat::Pretty, telemetry::QUIET);
    conclude(command)
}

/// Runs on a runtime of its own, and says what went wrong.
fn conclude(command: impl Future<Output = Outcome>) -> ExitCode {
    let threads = std::thread::available_parallelism()
        .map_or(MIN_THREADS, usize::from)
        .max(MIN_THREADS);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => Err(error.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&*error);
            ExitCode::FAILURE
        }
    }
}

/// Prints an error and everything that led to it.
fn complain(error: &dyn Error) {
    eprintln!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
}
