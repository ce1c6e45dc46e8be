//! The command line: one binary, one verb for each thing it can be asked to do.

mod signature;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The system of record between asynchronous AI work and money.
#[derive(Parser)]
#[command(name = "quittance", version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Work on webhook signatures.
    #[command(subcommand)]
    Signature(signature::SignatureCommand),
}

impl Cli {
    /// Runs the command and returns the process's exit status.
    pub(crate) fn run(self) -> ExitCode {
        match self.command {
            Command::Signature(command) => command.run(),
        }
    }
}
