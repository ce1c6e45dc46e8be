//! Statements as they are read.

mod entries;
mod groups;
mod matches;

use chrono::{DateTime, NaiveDate, Utc};
use domain::{
    canonical::Hash,
    id::{SourceId, StatementId},
    statement::{Outcome, Period, Tolerance},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

pub(super) use self::{
    entries::{EntryRow, Terms, entries, newest},
    matches::{InForce, in_force},
};
pub use self::{
    groups::{GroupLine, group, groups},
    matches::{MOST_LONE, Match, Part, lone, matches, meters},
};
use super::{Problem, check::Tally};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Id.
    pub id: StatementId,
    /// Order of storing.
    pub number: i64,
    /// Slug of the source.
    pub source: String,
    /// Mode of the source.
    pub livemode: bool,
    /// The days it speaks of.
    pub period: Period,
    /// By how much it may differ.
    pub tolerance: Tolerance,
    /// Name of the file.
    pub file_name: String,
    /// Hash of the file.
    pub file_hash: Hash,
    /// Whether it counts: no line is wrong.
    pub accepted: bool,
    /// Lines that were read.
    pub lines: i64,
    /// Errors that were found.
    pub errors: i64,
    /// Who uploaded it; nobody for the command line.
    pub uploaded_by: Option<String>,
    /// When.
    pub uploaded_at: DateTime<Utc>,
    /// The newest accepted statement of its source and period, when that is another.
    pub superseded_by: Option<StatementId>,
    /// When it was last checked, and what came of it.
    pub check: Option<(DateTime<Utc>, Tally)>,
}

/// Which statements are listed; everything that is set must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Mode.
    pub livemode: Option<bool>,
    /// Slug of the source.
    pub source: Option<String>,
    /// Whether it counts.
    pub accepted: Option<bool>,
}

struct Row {
    statement_id: Uuid,
    number: i64,
    slug: String,
    livemode: bool,
    period_from: NaiveDate,
    period_to: NaiveDate,
    absolute_tolerance: Decimal,
    relative_tolerance: Decimal,
    file_name: String,
    file_hash: Vec<u8>,
    accepted: bool,
    lines: i64,
    errors: i64,
    uploaded_by: Option<String>,
    uploaded_at: DateTime<Utc>,
    newest: Option<Uuid>,
    checked_at: Option<DateTime<Utc>>,
    matched: Option<i64>,
    within_tolerance: Option<i64>,
    differs: Option<i64>,
    missing_with_us: Option<i64>,
    missing_with_provider: Option<i64>,
    timing: Option<i64>,
}

impl Row {
    fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (outcome, groups) in [
            (Outcome::Matched, self.matched),
            (Outcome::WithinTolerance, self.within_tolerance),
            (Outcome::Differs, self.differs),
            (Outcome::MissingWithUs, self.missing_with_us),
            (Outcome::MissingWithProvider, self.missing_with_provider),
            (Outcome::Timing, self.timing),
        ] {
            tally.count(outcome, groups.unwrap_or_default());
        }
        tally
    }
}

impl TryFrom<Row> for Statement {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let id = StatementId(row.statement_id);
        let check = row.checked_at.map(|at| (at, row.tally()));
        Ok(Self {
            id,
            number: row.number,
            source: row.slug,
            livemode: row.livemode,
            period: period(row.period_from, row.period_to)?,
            tolerance: tolerance(row.absolute_tolerance, row.relative_tolerance)?,
            file_name: row.file_name,
            file_hash: Hash::try_from(row.file_hash).map_err(|bytes| {
                StoreError::inconsistent("statements", "file_hash", hex::encode(bytes))
            })?,
            accepted: row.accepted,
            lines: row.lines,
            errors: row.errors,
            uploaded_by: row.uploaded_by,
            uploaded_at: row.uploaded_at,
            superseded_by: row.newest.map(StatementId).filter(|newest| *newest != id),
            check,
        })
    }
}

fn period(from: NaiveDate, to: NaiveDate) -> Result<Period, StoreError> {
    Period::new(from, to)
        .map_err(|error| StoreError::inconsistent("statements", "period_to", error))
}

fn tolerance(absolute: Decimal, relative: Decimal) -> Result<Tolerance, StoreError> {
    Tolerance::new(absolute, relative)
        .map_err(|error| StoreError::inconsistent("statements", "relative_tolerance", error))
}

/// A page of statements, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Statement>, StoreError> {
    let rows = read(conn, filter, None, cursor.start(i64::MAX)).await?;
    Ok(Page::read(rows, &cursor))
}

/// One statement.
///
/// # Errors
/// [`StoreError`].
pub async fn find(
    conn: &mut PgConnection,
    id: StatementId,
) -> Result<Option<Statement>, StoreError> {
    let rows = read(conn, &Filter::default(), Some(id), (false, i64::MAX)).await;
    Ok(rows?.pop())
}

async fn read(
    conn: &mut PgConnection,
    filter: &Filter,
    id: Option<StatementId>,
    (upwards, start): (bool, i64),
) -> Result<Vec<Statement>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT s.statement_id, s.number, o.slug, s.livemode, s.period_from, s.period_to, s.absolute_tolerance,
                  s.relative_tolerance, s.file_name, s.file_hash, s.accepted, s.lines, s.errors, p.name AS "uploaded_by?",
                  s.uploaded_at, n.statement_id AS "newest?", c.checked_at AS "checked_at?", c.matched AS "matched?",
                  c.within_tolerance AS "within_tolerance?", c.differs AS "differs?", c.missing_with_us AS "missing_with_us?",
                  c.missing_with_provider AS "missing_with_provider?", c.timing AS "timing?"
           FROM statements s JOIN sources o ON o.source_id = s.source_id
           LEFT JOIN operators p ON p.operator_id = s.uploaded_by
           LEFT JOIN statement_checks c ON c.statement_id = s.statement_id
           LEFT JOIN LATERAL (
               SELECT n.statement_id FROM statements n
               WHERE n.accepted AND n.source_id = s.source_id AND n.livemode = s.livemode
                 AND n.period_from = s.period_from AND n.period_to = s.period_to
               ORDER BY n.number DESC LIMIT 1) n ON s.accepted
           WHERE CASE WHEN $1::bool THEN s.number > $2 ELSE s.number < $2 END
             AND ($3::uuid IS NULL OR s.statement_id = $3)
             AND ($4::bool IS NULL OR s.livemode = $4)
             AND ($5::text IS NULL OR o.slug = $5)
             AND ($6::bool IS NULL OR s.accepted = $6)
           ORDER BY CASE WHEN $1 THEN s.number ELSE -s.number END LIMIT $7"#,
        upwards,
        start,
        id.map(|id| id.0),
        filter.livemode,
        filter.source,
        filter.accepted,
        Page::<Statement>::ASK,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Statement::try_from).collect()
}

/// Why a statement was refused: the first errors, in the order of the file.
///
/// # Errors
/// [`StoreError`].
pub async fn errors(conn: &mut PgConnection, id: StatementId) -> Result<Vec<Problem>, StoreError> {
    let rows = sqlx::query!(
        "SELECT line, field, problem FROM statement_errors WHERE statement_id = $1 ORDER BY position",
        id.0,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let field = row.field.map(|field| field.parse()).transpose();
            Ok(Problem {
                line: row.line,
                field: field.map_err(|error| {
                    StoreError::inconsistent("statement_errors", "field", error)
                })?,
                problem: row.problem,
            })
        })
        .collect()
}

/// What the provider charges in a statement, by currency.
///
/// # Errors
/// [`StoreError`].
pub async fn charged(
    conn: &mut PgConnection,
    id: StatementId,
) -> Result<Vec<(String, String)>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT currency AS "currency!", trim_scale(sum(amount))::text AS "total!" FROM statement_lines
           WHERE statement_id = $1 AND currency IS NOT NULL GROUP BY currency ORDER BY currency"#,
        id.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.currency, row.total))
        .collect())
}

/// A source that statements can be of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// Id.
    pub id: SourceId,
    /// Slug.
    pub slug: String,
}

/// The sources of a mode, by name.
///
/// # Errors
/// [`StoreError`].
pub async fn sources(conn: &mut PgConnection, livemode: bool) -> Result<Vec<Source>, StoreError> {
    let rows = sqlx::query!(
        "SELECT source_id, slug FROM sources WHERE livemode = $1 ORDER BY slug",
        livemode,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Source {
            id: SourceId(row.source_id),
            slug: row.slug,
        })
        .collect())
}
