//! The `quittance` program.

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    server::cli::Cli::parse().run()
}
