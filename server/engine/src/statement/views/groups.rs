//! The groups of a statement that did not match when it was last checked.

use domain::{
    id::{JobId, StatementId, TenantId},
    statement::{GroupKey, Outcome},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// A group that did not match when the statement was last checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupLine {
    /// Its place.
    pub position: i64,
    /// The statement.
    pub statement: StatementId,
    /// The provider's reference, or our job id where there is none; of a match, its id.
    pub reference: String,
    /// What was counted.
    pub meter: String,
    /// What the two sides came to.
    pub outcome: Outcome,
    /// Our usage in the period.
    pub ours: Option<Decimal>,
    /// The sum of the provider's lines.
    pub theirs: Option<Decimal>,
    /// The job, or the first of several.
    pub job: Option<(TenantId, JobId)>,
}

pub(super) struct GroupRow {
    pub(super) position: i64,
    pub(super) statement_id: Uuid,
    pub(super) reference: String,
    pub(super) meter: String,
    pub(super) outcome: String,
    pub(super) ours: Option<Decimal>,
    pub(super) theirs: Option<Decimal>,
    pub(super) job_tenant_id: Option<Uuid>,
    pub(super) job_id: Option<Uuid>,
}

impl TryFrom<GroupRow> for GroupLine {
    type Error = StoreError;

    fn try_from(row: GroupRow) -> Result<Self, StoreError> {
        Ok(Self {
            position: row.position,
            statement: StatementId(row.statement_id),
            reference: row.reference,
            meter: row.meter,
            outcome: (row.outcome.parse())
                .map_err(|error| StoreError::inconsistent("statement_groups", "outcome", error))?,
            ours: row.ours,
            theirs: row.theirs,
            job: row.job_tenant_id.map(TenantId).zip(row.job_id.map(JobId)),
        })
    }
}

/// A page of the groups that did not match, by reference and meter.
///
/// # Errors
/// [`StoreError`].
pub async fn groups(
    conn: &mut PgConnection,
    id: StatementId,
    outcome: Option<Outcome>,
    cursor: Cursor<i64>,
) -> Result<Page<GroupLine>, StoreError> {
    let (upwards, start) = match cursor {
        Cursor::Newest => (false, 0),
        Cursor::Older(position) => (false, position),
        Cursor::Newer(position) => (true, position),
    };
    let rows = sqlx::query_as!(
        GroupRow,
        "SELECT position, statement_id, reference, meter, outcome, ours, theirs, job_tenant_id, job_id
         FROM statement_groups
         WHERE statement_id = $1 AND match_id IS NULL AND CASE WHEN $2::bool THEN position < $3 ELSE position > $3 END
           AND ($4::text IS NULL OR outcome = $4)
         ORDER BY CASE WHEN $2 THEN -position ELSE position END LIMIT $5",
        id.0,
        upwards,
        start,
        outcome.map(|outcome| outcome.as_str()),
        Page::<GroupLine>::ASK,
    )
    .fetch_all(conn)
    .await?;
    let rows: Result<Vec<_>, _> = rows.into_iter().map(GroupLine::try_from).collect();
    Ok(Page::read(rows?, &cursor))
}

/// The group of an exception, in the statement that counts.
///
/// # Errors
/// [`StoreError`].
pub async fn group(
    conn: &mut PgConnection,
    key: &GroupKey,
) -> Result<Option<GroupLine>, StoreError> {
    let row = sqlx::query_as!(
        GroupRow,
        "SELECT g.position, g.statement_id, g.reference, g.meter, g.outcome, g.ours, g.theirs, g.job_tenant_id, g.job_id
         FROM statement_groups g
         WHERE g.reference = $1 AND g.meter = $2 AND g.match_id IS NULL AND g.statement_id = (
             SELECT s.statement_id FROM statements s JOIN sources o ON o.source_id = s.source_id
             WHERE s.accepted AND o.slug = $3 AND s.livemode = $4 AND s.period_from = $5 AND s.period_to = $6
             ORDER BY s.number DESC LIMIT 1)",
        key.reference,
        key.meter.as_str(),
        key.source,
        key.livemode,
        key.period.from(),
        key.period.to(),
    )
    .fetch_optional(conn)
    .await?;
    row.map(GroupLine::try_from).transpose()
}
