//! Verifying the books: everything that must add up is added up again, from the rows.
//!
//! One snapshot, so work that goes on meanwhile is either wholly in it or not at all; two connections read
//! it, one for what the database adds up and one for what is hashed here. Each break is one line that names
//! the ids and the numbers; a check that cannot read the rows is a break too, and the other checks go on.
//! Cost: a few passes over transfers, settlements, jobs and lots, or over what was written since a position;
//! only breaks are kept in memory.

mod views;

use chrono::{DateTime, Utc};
use domain::{exception::Class, id::TenantId, money::Currency};
use futures::TryStreamExt;
use rust_decimal::Decimal;
use sqlx::{PgConnection, PgPool};

use crate::{
    audit::views::{Head, follow_from},
    error::StoreError,
    seal,
};

/// Breaks kept of one check; one more is counted and not kept.
pub const MOST_BREAKS: usize = 1000;

/// How the books are read: as they are at one instant, whatever goes on.
const LOOK: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

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
    pub(crate) fn about(check: Class, subject: String, line: String) -> Self {
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
    /// Those that could not read what is stored; what they found before is listed.
    pub unreadable: Vec<Class>,
    /// What does not add up; empty when the books are in order.
    pub breaks: Vec<Break>,
    /// Every transaction before this one had ended when the books were read.
    pub horizon: i64,
    /// The newest line of the audit log, when its chain is whole. Noted elsewhere, it shows later
    /// whether the log was cut short.
    pub audit_head: Option<Head>,
    /// The newest seal, when all of them hold. Noted elsewhere, it shows later whether history was changed
    /// together with its seals.
    pub seal_head: Option<seal::Head>,
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
    /// Adds what was found beside.
    fn add(&mut self, beside: Self) {
        self.checks.extend(beside.checks);
        self.cut_short.extend(beside.cut_short);
        self.unreadable.extend(beside.unreadable);
        self.breaks.extend(beside.breaks);
        self.audit_head = beside.audit_head;
        self.seal_head = beside.seal_head;
    }

    /// Whether the books are in order.
    pub fn in_order(&self) -> bool {
        self.breaks.is_empty()
    }
}

/// Where a run stood, for the next to begin at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    /// Every transaction before this one had ended.
    pub(crate) horizon: i64,
    /// Newest line of the audit log.
    pub(crate) audit: Head,
}

/// Verifies the books.
///
/// # Errors
/// [`StoreError`]; a break is not an error but part of the report.
pub async fn verify(pool: &PgPool) -> Result<Report, StoreError> {
    examine(pool, None, None).await
}

/// Verifies that every balance is the sum of its transfers, and that all of them together come to nothing:
/// the money alone, in one pass over the transfers.
///
/// # Errors
/// As [`verify`].
pub async fn verify_balances(pool: &PgPool) -> Result<Report, StoreError> {
    let mut tx = pool.begin_with(LOOK).await?;
    views::prepare(&mut tx, None).await?;
    let mut report = Report {
        horizon: views::horizon(&mut tx).await?,
        examined: views::examined(&mut tx, None).await?,
        ..Report::default()
    };
    views::check_balances(&mut tx, &mut report).await?;
    tx.rollback().await?;
    Ok(report)
}

/// [`verify`], from a position on if there is one, and whether every event that was due before an instant
/// has its outcome. What is hashed is read on a connection of its own that sees the same, so that the
/// database adds up meanwhile.
pub(crate) async fn examine(
    pool: &PgPool,
    since: Option<Position>,
    due_before: Option<DateTime<Utc>>,
) -> Result<Report, StoreError> {
    let mut tx = pool.begin_with(LOOK).await?;
    let from = since.map(|position| position.horizon);
    views::prepare(&mut tx, from).await?;
    let mut report = Report {
        horizon: views::horizon(&mut tx).await?,
        examined: views::examined(&mut tx, from).await?,
        ..Report::default()
    };
    let mut beside = pool.begin_with(LOOK).await?;
    views::import(&mut beside, &views::export(&mut tx).await?).await?;
    views::prepare(&mut beside, from).await?;
    let add_up = async {
        views::run_checks(&mut tx, &mut report, from).await?;
        match due_before {
            Some(instant) => views::stuck_events(&mut tx, &mut report, instant).await,
            None => Ok(()),
        }
    };
    let mut hashed = Report::default();
    let hash = async {
        hash_again(&mut beside, &mut hashed, from).await?;
        follow_audit(
            &mut beside,
            &mut hashed,
            since.map(|position| position.audit),
        )
        .await?;
        follow_seals(&mut beside, &mut hashed, from).await
    };
    futures::try_join!(add_up, hash)?;
    beside.rollback().await?;
    tx.rollback().await?;
    report.add(hashed);
    Ok(report)
}

/// Computes the hash of every settlement from its rows, one at a time. A row that cannot be read does not
/// have its hash.
async fn hash_again(
    conn: &mut PgConnection,
    report: &mut Report,
    from: Option<i64>,
) -> Result<(), StoreError> {
    report.checks.push(Class::Content);
    let mut settlements = views::contents(conn, from);
    let mut found = 0;
    while let Some(row) = settlements.try_next().await? {
        let Some(line) = row.fault() else { continue };
        found += 1;
        if found > MOST_BREAKS {
            report.cut_short.push(Class::Content);
            break;
        }
        report.breaks.push(Break {
            tenant: Some(row.tenant()),
            ..Break::about(Class::Content, row.name(), line)
        });
    }
    Ok(())
}

/// Follows the chain of the audit log.
async fn follow_audit(
    conn: &mut PgConnection,
    report: &mut Report,
    from: Option<Head>,
) -> Result<(), StoreError> {
    report.checks.push(Class::Audit);
    let line = match follow_from(conn, from.unwrap_or(Head::GENESIS)).await {
        Ok(Ok(head)) => {
            report.audit_head = Some(head);
            return Ok(());
        }
        Ok(Err(found)) => format!("audit log: {found}"),
        Err(StoreError::Inconsistent { column, source, .. }) => {
            format!("audit log: {column} of a line cannot be read: {source}")
        }
        Err(error) => return Err(error),
    };
    let subject = "audit log".to_owned();
    report
        .breaks
        .push(Break::about(Class::Audit, subject, line));
    Ok(())
}

/// Hashes what is sealed again, and compares the root of every seal.
async fn follow_seals(
    conn: &mut PgConnection,
    report: &mut Report,
    from: Option<i64>,
) -> Result<(), StoreError> {
    report.checks.push(Class::Seals);
    let (subject, line) = match seal::follow(conn, from).await {
        Ok(Ok(head)) => {
            report.seal_head = head;
            return Ok(());
        }
        Ok(Err(broken)) => (format!("seal_{}", broken.seal.number), broken.to_string()),
        Err(StoreError::Inconsistent {
            table,
            column,
            source,
        }) => {
            let line = format!("{table}.{column} of what is sealed cannot be read: {source}");
            ("seals".to_owned(), line)
        }
        Err(error) => return Err(error),
    };
    report
        .breaks
        .push(Break::about(Class::Seals, subject, line));
    Ok(())
}
