//! `quittance seal`: evidence that a settlement is sealed, and checking it without a database.

use std::{fs, path::PathBuf};

use clap::{Args, Subcommand};
use domain::{id::SettlementId, seal::Evidence};

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Work on seals.
#[derive(Subcommand)]
pub(super) enum SealCommand {
    /// Print what proves that a settlement is sealed, as JSON.
    Proof(Box<ProofArgs>),
    /// Check such a proof, with no database at all. Compare the roots it prints with those you noted.
    Check(CheckArgs),
}

#[derive(Args)]
pub(super) struct ProofArgs {
    /// The settlement.
    settlement: SettlementId,
    /// A later seal whose root you noted, to prove it under; its own when left out.
    #[arg(long, value_name = "NUMBER")]
    seal: Option<i64>,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct CheckArgs {
    /// The file that `quittance seal proof` wrote.
    file: PathBuf,
}

/// Why a file cannot be checked.
#[derive(Debug, thiserror::Error)]
enum CheckError {
    #[error("{0} cannot be read")]
    Unreadable(PathBuf, #[source] std::io::Error),
    #[error("{0} is not what `quittance seal proof` prints")]
    NoEvidence(PathBuf, #[source] serde_json::Error),
    #[error("it proves nothing")]
    NotProven(#[from] domain::seal::EvidenceError),
}

impl SealCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Proof(args) => prove(*args).await,
            Self::Check(args) => Ok(check(args.file)?),
        }
    }
}

async fn prove(args: ProofArgs) -> Outcome {
    let database = Database::open_existing(&args.data).await?;
    database.migrate().await?;
    let engine = database.engine(2).await?;
    let evidence = engine.seal_evidence(args.settlement, args.seal).await;
    engine.pool().close().await;
    database.close().await?;
    println!("{}", serde_json::to_string_pretty(&evidence?)?);
    Ok(())
}

fn check(file: PathBuf) -> Result<(), CheckError> {
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => return Err(CheckError::Unreadable(file, error)),
    };
    let evidence: Evidence = match serde_json::from_str(&text) {
        Ok(evidence) => evidence,
        Err(error) => return Err(CheckError::NoEvidence(file, error)),
    };
    evidence.check()?;
    println!(
        "{} is sealed as this proof says, if these are the roots you noted:",
        evidence.settlement
    );
    let mut seals: Vec<_> = evidence
        .proofs
        .iter()
        .map(|proof| (proof.seal, proof.leaves, proof.root))
        .collect();
    seals.dedup();
    for (seal, leaves, root) in seals {
        println!("seal {seal}: {leaves} leaves, root {root}");
    }
    Ok(())
}
