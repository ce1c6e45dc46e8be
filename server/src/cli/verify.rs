//! `quittance verify`: are the books in order? Exit status 0 when they are, 1 when they are not.

use clap::Args;
use domain::canonical::Hash;
use engine::{
    Engine,
    books::{self, MOST_BREAKS, Report},
    error::StoreError,
    seal::views::{Seal, find},
};

use super::Outcome;
use crate::{config::DataArgs, database::Database};

#[derive(Args)]
pub(super) struct VerifyArgs {
    /// Only that every balance is the sum of its transfers: on large books in seconds, where everything takes minutes.
    #[arg(long, conflicts_with = "seal")]
    balances: bool,
    /// A seal whose root was noted elsewhere: history up to it must still be what it was.
    #[arg(long, requires = "root", value_name = "NUMBER")]
    seal: Option<i64>,
    /// The root that was noted of it.
    #[arg(long, requires = "seal", value_name = "HEX")]
    root: Option<Hash>,
    #[command(flatten)]
    data: DataArgs,
}

/// The books are not in order; what is wrong was printed before.
#[derive(Debug, thiserror::Error)]
#[error("the books are not in order: {0} breaks")]
struct NotInOrder(usize);

/// A seal is not the one that was noted.
#[derive(Debug, thiserror::Error)]
enum NotAsNoted {
    #[error("there is no seal {0} any more, if there ever was: history was cut short")]
    Gone(i64),
    #[error(
        "the root of seal {number} is {on_record}, not {noted}: history was changed and sealed anew"
    )]
    Other {
        number: i64,
        on_record: Hash,
        noted: Hash,
    },
}

/// Verifies and prints.
pub(super) async fn run(args: VerifyArgs) -> Outcome {
    let database = Database::open_existing(&args.data).await?;
    database.migrate().await?;
    let engine = database.engine(4).await?;
    let verified = match args.balances {
        true => books::verify_balances(engine.pool())
            .await
            .map(|report| (report, None)),
        false => verify(&engine, args.seal).await,
    };
    engine.pool().close().await;
    database.close().await?;
    let (report, seal) = verified?;
    print!("{}", lines(&report));
    if let Some((number, noted)) = args.seal.zip(args.root) {
        compare(number, noted, seal.as_ref())?;
        println!("seal {number} has the root that was noted");
    }
    match report.in_order() {
        true => Ok(()),
        false => Err(NotInOrder(report.breaks.len()).into()),
    }
}

async fn verify(engine: &Engine, noted: Option<i64>) -> Result<(Report, Option<Seal>), StoreError> {
    let report = books::verify(engine.pool()).await?;
    let Some(number) = noted else {
        return Ok((report, None));
    };
    let mut conn = engine.pool().acquire().await?;
    Ok((report, find(&mut conn, number).await?))
}

fn compare(number: i64, noted: Hash, seal: Option<&Seal>) -> Result<(), NotAsNoted> {
    match seal {
        None => Err(NotAsNoted::Gone(number)),
        Some(seal) if seal.root != noted => Err(NotAsNoted::Other {
            number,
            on_record: seal.root,
            noted,
        }),
        Some(_) => Ok(()),
    }
}

fn lines(report: &Report) -> String {
    let seen = &report.examined;
    let mut text = format!(
        "examined {} jobs, {} settlements, {} transfers, {} accounts, {} lots\n",
        seen.jobs, seen.settlements, seen.transfers, seen.accounts, seen.lots
    );
    if let Some(head) = report.audit_head {
        text += &format!(
            "audit log: {} lines, the newest has the hash {}\n",
            head.number, head.hash
        );
    }
    if let Some(head) = report.seal_head {
        text += &format!(
            "seals: {}, the newest over {} leaves with the root {}\n",
            head.number, head.leaves, head.root
        );
    }
    for check in &report.checks {
        let breaks: Vec<_> = report
            .breaks
            .iter()
            .filter(|found| found.check == *check)
            .collect();
        let verdict = if breaks.is_empty() { "ok   " } else { "BREAK" };
        text += &format!("{verdict} {check}\n");
        for found in breaks {
            text += &format!("      {}\n", found.line);
        }
        if report.cut_short.contains(check) {
            text += &format!("      more than {MOST_BREAKS} breaks; the rest is not listed\n");
        }
    }
    text
}
