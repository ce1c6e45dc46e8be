//! The checks. Each query returns a row for each break, and nothing when all is well: what it is about,
//! the two numbers that should be one, and the whole in a line.
//!
//! A check speaks of `the_settlements`, `the_transfers`, `the_jobs`, `the_lots` and `the_wallets`: all of them,
//! or those that were written to since a transaction. One text serves both, so that what an incremental run
//! takes for right is what a full run takes for right. `OFFSET 0` keeps the planner from reading the whole of
//! a table for the little of it that is new.

mod accounts;
mod jobs;
mod lots;
mod settlements;

use chrono::{DateTime, Utc};
use domain::{exception::Class, id::TenantId, money::Currency};
use futures::{Stream, TryStreamExt};
use rust_decimal::Decimal;
use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use crate::{
    books::{Break, MOST_BREAKS, Report},
    error::StoreError,
};

/// A break as a query returns it.
struct Row {
    tenant_id: Option<Uuid>,
    subject: Option<String>,
    expected: Option<Decimal>,
    actual: Option<Decimal>,
    currency: Option<String>,
    line: Option<String>,
}

impl Row {
    fn read(self, check: Class) -> Result<Break, StoreError> {
        let currency = self.currency.map(|code| code.parse::<Currency>());
        Ok(Break {
            check,
            tenant: self.tenant_id.map(TenantId),
            subject: self.subject.unwrap_or_default(),
            expected: self.expected,
            actual: self.actual,
            currency: currency
                .transpose()
                .map_err(|error| StoreError::inconsistent("accounts", "currency", error))?,
            line: self.line.unwrap_or_default(),
        })
    }
}

/// Runs checks one after the other, each in a savepoint of its own; `$since` is the transaction that what is
/// looked at was written since, or nothing.
macro_rules! checks {
    ($conn:ident, $report:ident, $since:ident; $($class:ident: $sql:literal)*) => {
        $({
            let mut part = $conn.begin().await?;
            let rows = sqlx::query_as!(
                crate::books::views::checks::Row,
                "WITH the_settlements AS NOT MATERIALIZED (
                     SELECT * FROM settlements WHERE $1::bigint IS NULL OR written_in >= $1),
                 the_jobs AS NOT MATERIALIZED (
                     SELECT * FROM jobs WHERE $1 IS NULL
                     UNION ALL
                     SELECT * FROM jobs WHERE $1 IS NOT NULL
                         AND (tenant_id, job_id) IN (SELECT tenant_id, job_id FROM settlements WHERE written_in >= $1)),
                 the_lots AS NOT MATERIALIZED (
                     SELECT * FROM lots WHERE $1 IS NULL
                     UNION ALL
                     SELECT * FROM lots WHERE $1 IS NOT NULL AND (tenant_id, lot_id) IN (
                         SELECT tenant_id, subject_id FROM settlements WHERE written_in >= $1 AND subject_kind = 'lot')),
                 the_wallets AS NOT MATERIALIZED (
                     SELECT tenant_id, wallet_id FROM wallets WHERE $1 IS NULL
                     UNION
                     SELECT tenant_id, wallet_id FROM settlements WHERE written_in >= $1),
                 the_transfers AS NOT MATERIALIZED (
                     SELECT * FROM transfers WHERE $1 IS NULL
                     UNION ALL
                     SELECT t.* FROM settlements s CROSS JOIN LATERAL (
                         SELECT * FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id OFFSET 0) AS t
                     WHERE s.written_in >= $1) "
                    + $sql,
                $since,
            )
            .fetch(&mut *part);
            let class = domain::exception::Class::$class;
            let read = crate::books::views::checks::collect(class, $report, rows).await;
            crate::books::views::checks::end(part, class, $report, read).await?;
        })*
    };
}
use checks;

async fn collect(
    check: Class,
    report: &mut Report,
    mut rows: impl Stream<Item = Result<Row, sqlx::Error>> + Unpin,
) -> Result<(), StoreError> {
    report.checks.push(check);
    let mut found = 0;
    while let Some(row) = rows.try_next().await? {
        found += 1;
        if found > MOST_BREAKS {
            report.cut_short.push(check);
            break;
        }
        report.breaks.push(row.read(check)?);
    }
    Ok(())
}

/// Ends a check. Rows that it cannot read are a break of what it checks; the other checks go on.
async fn end(
    part: Transaction<'_, Postgres>,
    check: Class,
    report: &mut Report,
    read: Result<(), StoreError>,
) -> Result<(), StoreError> {
    match read {
        Ok(()) => Ok(part.commit().await?),
        Err(error) if error.is_about_data() => {
            part.rollback().await?;
            let line = format!("what is stored cannot be read: {}", error.innermost());
            let subject = "what is stored".to_owned();
            report.breaks.push(Break::about(check, subject, line));
            report.unreadable.push(check);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Every check that SQL can do without a clock.
pub(in crate::books) async fn run_checks(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    accounts::run(conn, report, since).await?;
    settlements::run(conn, report, since).await?;
    jobs::run(conn, report, since).await?;
    lots::run(conn, report, since).await
}

/// The checks of balances against transfers, and of balances against each other.
pub(in crate::books) async fn check_balances(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    accounts::every_balance(conn, report).await?;
    accounts::trial_balance(conn, report).await
}

/// Events that a worker should have decided long before `due_before`.
pub(in crate::books) async fn stuck_events(
    conn: &mut PgConnection,
    report: &mut Report,
    due_before: DateTime<Utc>,
) -> Result<(), StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "SELECT tenant_id, 'evt_' || event_id AS subject, NULL::numeric AS expected, NULL::numeric AS actual,
                NULL::text AS currency,
                format('event %s is %s and was due %s', event_id, state, due_at) AS line
         FROM events WHERE due_at < $1 ORDER BY due_at",
        due_before,
    );
    collect(Class::EventOutcome, report, rows.fetch(conn)).await
}
