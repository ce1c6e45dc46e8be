//! Verifying the books: everything that must add up is added up again, from the rows.
//!
//! One read-only transaction on one snapshot, so work that goes on meanwhile is either wholly in it or
//! not at all. Each break is one line that names the ids and the numbers. Cost: a few passes over
//! transfers, settlements, jobs and lots; only breaks are kept in memory.

mod views;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    exception::Class,
    id::TenantId,
    money::Currency,
    settlement::{Effect, SettlementKey},
};
use futures::TryStreamExt;
use rust_decimal::Decimal;
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
    pub check: Class,
    /// Whose books it is in, where it is in a tenant's.
    pub tenant: Option<TenantId>,
    /// What it is about: an id, and what of it where the id alone is not one thing.
    pub subject: String,
    /// The number that should be there, where it is about a number.
    pub expected: Option<Decimal>,
    /// The number that is there.
    pub actual: Option<Decimal>,
    /// Currency of both, where they are money.
    pub currency: Option<Currency>,
    /// What is wrong, with ids and numbers.
    pub line: String,
}

impl Break {
    fn about(check: Class, subject: String, line: String) -> Self {
        Self {
            check,
            tenant: None,
            subject,
            expected: None,
            actual: None,
            currency: None,
            line,
        }
    }
}

/// What was checked and what was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Rows that were examined.
    pub examined: Examined,
    /// The checks that ran.
    pub checks: Vec<Class>,
    /// Those that found more than [`MOST_BREAKS`]; the rest is not listed.
    pub cut_short: Vec<Class>,
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
    examine(pool, None).await
}

/// [`verify`], and whether every event that was due before an instant has its outcome.
pub(crate) async fn examine(
    pool: &PgPool,
    due_before: Option<DateTime<Utc>>,
) -> Result<Report, StoreError> {
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
    if let Some(instant) = due_before {
        views::stuck_events(&mut tx, &mut report, instant).await?;
    }
    tx.rollback().await?;
    Ok(report)
}

/// Computes the hash of every settlement from its rows, one at a time.
async fn hash_again(conn: &mut sqlx::PgConnection, report: &mut Report) -> Result<(), StoreError> {
    report.checks.push(Class::Content);
    let mut settlements = views::contents(conn);
    let mut found = 0;
    while let Some((key, effect, recorded)) = settlements.try_next().await? {
        if hash(&effect, &key) == Some(recorded) {
            continue;
        }
        found += 1;
        if found > MOST_BREAKS {
            report.cut_short.push(Class::Content);
            break;
        }
        let line =
            format!("{key}: its content does not have the hash {recorded} it was written with");
        report.breaks.push(Break {
            tenant: Some(key.tenant),
            ..Break::about(Class::Content, key.to_string(), line)
        });
    }
    Ok(())
}

/// Follows the chain of the audit log.
async fn follow_audit(
    conn: &mut sqlx::PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    report.checks.push(Class::Audit);
    match follow(conn).await? {
        Ok(head) => report.audit_head = Some(head),
        Err(found) => {
            let line = format!("audit log: {found}");
            let subject = "audit log".to_owned();
            report
                .breaks
                .push(Break::about(Class::Audit, subject, line));
        }
    }
    Ok(())
}

fn hash(effect: &Effect, key: &SettlementKey) -> Option<Hash> {
    effect.content_hash(key).ok()
}
