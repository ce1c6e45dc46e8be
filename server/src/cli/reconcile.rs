//! `quittance reconcile`: checks every truth about the books and keeps what does not hold as exceptions.
//! Exit status 0 when everything holds, 1 when something does not.

use clap::Args;
use domain::exception::{Cause, Reach};

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Something does not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0} things do not hold; see /exceptions in the console")]
struct NotInOrder(usize);

/// What to reconcile.
#[derive(Args)]
pub(super) struct ReconcileArgs {
    #[command(flatten)]
    data: DataArgs,
    /// Look only at what was written since the run before, not at everything.
    #[arg(long)]
    incremental: bool,
}

/// Reconciles and prints what came of it.
pub(super) async fn run(args: ReconcileArgs) -> Outcome {
    let reach = if args.incremental {
        Reach::Incremental
    } else {
        Reach::Full
    };
    let database = Database::open_existing(&args.data).await?;
    database.migrate().await?;
    let engine = database.engine(4).await?;
    let done = engine
        .reconcile(Cause::CommandLine, Some(reach), None)
        .await;
    engine.pool().close().await;
    database.close().await?;
    let tally = done?;
    println!(
        "run {}, {}: {} found, {} of them new, {} right again",
        tally.run, tally.reach, tally.found, tally.opened, tally.closed
    );
    match tally.found {
        0 => Ok(()),
        found => Err(NotInOrder(found).into()),
    }
}
