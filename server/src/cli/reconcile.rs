//! `quittance reconcile`: checks every truth about the books and keeps what does not hold as exceptions.
//! Exit status 0 when everything holds, 1 when something does not.

use domain::exception::Cause;

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Something does not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0} things do not hold; see /exceptions in the console")]
struct NotInOrder(usize);

/// Reconciles and prints what came of it.
pub(super) async fn run(data: DataArgs) -> Outcome {
    let database = Database::open_existing(&data).await?;
    database.migrate().await?;
    let engine = database.engine(4).await?;
    let done = engine.reconcile(Cause::CommandLine, None).await;
    engine.pool().close().await;
    database.close().await?;
    let tally = done?;
    println!(
        "run {}: {} found, {} of them new, {} right again",
        tally.run, tally.found, tally.opened, tally.closed
    );
    match tally.found {
        0 => Ok(()),
        found => Err(NotInOrder(found).into()),
    }
}
