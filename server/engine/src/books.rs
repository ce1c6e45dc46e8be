//! Verifying the books: everything that must add up is added up again, from the rows.
//!
//! One read-only transaction on one snapshot, so work that goes on meanwhile is either wholly in it or
//! not at all. Each break is one line that names the ids and the numbers. Cost: a few passes over
//! transfers, settlements, jobs and lots; only breaks are kept in memory.

mod views;

use domain::{
    canonical::Hash,
    settlement::{Effect, SettlementKey},
};
use futures::TryStreamExt;
use sqlx::PgPool;

use crate::{
    audit::views::{Head, follow},
    error::StoreError,
};

/// Breaks kept of one check; one more is counted and not kept.
pub const MOST_BREAKS: usize = 1000;

/// One thing that does not add up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Break {
    /// Which check found it.
    pub check: &'static str,
    /// What is wrong, with ids and numbers.
    pub line: String,
}

/// What was checked and what was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Rows that were examined.
    pub examined: Examined,
    /// Names of the checks that ran.
    pub checks: Vec<&'static str>,
    /// What does not add up; empty when the books are in order.
    pub breaks: Vec<Break>,
    /// The newest line of the audit log, when its chain is whole. Noted elsewhere, it shows later
    /// whether the log was cut short.
    pub audit_head: Option<Head>,
}

/// Rows that were examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Examined {
    /// Jobs.
    pub jobs: i64,
    /// Settlements.
    pub settlements: i64,
    /// Transfers.
    pub transfers: i64,
    /// Accounts.
    pub accounts: i64,
    /// Lots.
    pub lots: i64,
}

impl Report {
    /// Whether the books are in order.
    pub fn in_order(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// Verifies the books.
///
/// # Errors
/// [`StoreError`]; a break is not an error but part of the report.
pub async fn verify(pool: &PgPool) -> Result<Report, StoreError> {
    let mut tx = pool
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let mut report = Report {
        examined: views::examined(&mut tx).await?,
        ..Report::default()
    };
    views::run_checks(&mut tx, &mut report).await?;
    hash_again(&mut tx, &mut report).await?;
    follow_audit(&mut tx, &mut report).await?;
    tx.rollback().await?;
    Ok(report)
}

/// Computes the hash of every settlement from its rows, one at a time.
async fn hash_again(conn: &mut sqlx::PgConnection, report: &mut Report) -> Result<(), StoreError> {
    const CHECK: &str = "content_hash";
    report.checks.push(CHECK);
    let mut settlements = views::contents(conn);
    let mut found = 0;
    while let Some((key, effect, recorded)) = settlements.try_next().await? {
        if found < MOST_BREAKS && hash(&effect, &key) != Some(recorded) {
            found += 1;
            let line =
                format!("{key}: its content does not have the hash {recorded} it was written with");
            report.breaks.push(Break { check: CHECK, line });
        }
    }
    Ok(())
}

/// Follows the chain of the audit log.
async fn follow_audit(
    conn: &mut sqlx::PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    const CHECK: &str = "audit_chain";
    report.checks.push(CHECK);
    match follow(conn).await? {
        Ok(head) => report.audit_head = Some(head),
        Err(found) => report.breaks.push(Break {
            check: CHECK,
            line: format!("audit log: {found}"),
        }),
    }
    Ok(())
}

fn hash(effect: &Effect, key: &SettlementKey) -> Option<Hash> {
    effect.content_hash(key).ok()
}
