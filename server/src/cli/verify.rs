//! `quittance verify`: are the books in order? Exit status 0 when they are, 1 when they are not.

use engine::books::{self, MOST_BREAKS, Report};

use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// The books are not in order; what is wrong was printed before.
#[derive(Debug, thiserror::Error)]
#[error("the books are not in order: {0} breaks")]
struct NotInOrder(usize);

/// Verifies and prints.
pub(super) async fn run(data: DataArgs) -> Outcome {
    let database = Database::open_existing(&data).await?;
    database.migrate().await?;
    let engine = database.engine(4).await?;
    let report = books::verify(engine.pool()).await;
    engine.pool().close().await;
    database.close().await?;
    let report = report?;
    print!("{}", lines(&report));
    match report.in_order() {
        true => Ok(()),
        false => Err(NotInOrder(report.breaks.len()).into()),
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
