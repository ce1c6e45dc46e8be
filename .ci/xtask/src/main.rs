//! The task runner behind `cargo x`: everything between a fresh clone and a running product.
//!
//! Each subcommand first installs what it needs and is missing, says so, and shows progress all
//! the time. Nothing here is needed at run time by the product.

mod bench;
mod command;
mod demo;
mod dev;
mod front;
mod prepare;
mod setup;
mod steps;
mod test;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

/// Quittance's task runner.
#[derive(Parser)]
#[command(name = "cargo x", bin_name = "cargo x", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Builds everything and runs the product with demo data and a simulated provider.
    Demo {
        /// Passed on to `quittance demo`, such as `--jobs 2000 --exit`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs every check, or with a filter only the Rust tests whose name contains it.
    Test {
        /// Part of a test's name.
        filter: Option<String>,
    },
    /// Rebuilds and restarts the product whenever a source file changes.
    Dev {
        /// Passed on to `quittance`; `serve` when there are none.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Builds the browser's part into target/site and holds it to its size budgets.
    Front,
    /// Writes the query data that lets everybody compile without a database.
    Prepare,
    /// Measures the product against a bare pgbench run on the same database.
    Bench {
        /// Passed on to the benchmark.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Installs what is missing, for everything above.
    Setup,
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ncargo x: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    env::set_current_dir(root()?).context("entering the workspace")?;
    match task {
        Task::Demo { args } => demo::run(&args),
        Task::Test { filter } => test::run(filter.as_deref()),
        Task::Dev { args } => dev::run(&args),
        Task::Front => {
            let toolchain = setup::for_build()?;
            front::build(toolchain, front::Kind::Release)
        }
        Task::Prepare => {
            setup::for_database()?;
            prepare::write()
        }
        Task::Bench { args } => bench::run(&args),
        Task::Setup => setup::for_tests().map(drop),
    }
}

/// The workspace's directory; every path in the task runner is relative to it.
fn root() -> Result<PathBuf> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo x`")?;
    let root = PathBuf::from(manifest).join("../..");
    root.canonicalize().context("finding the workspace")
}
