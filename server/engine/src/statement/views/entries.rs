//! What both sides say, entry by entry, in the order of groups.

use domain::{
    id::{JobId, SourceId, StatementId, TenantId},
    statement::{Entry, Period, Standing, Tolerance},
    usage::Meter,
};
use futures::{Stream, StreamExt};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{period, tolerance};
use crate::error::StoreError;

/// What a statement is checked on.
pub(in crate::statement) struct Terms {
    pub(in crate::statement) id: StatementId,
    pub(in crate::statement) source: String,
    pub(in crate::statement) livemode: bool,
    pub(in crate::statement) period: Period,
    pub(in crate::statement) tolerance: Tolerance,
}

/// The statements that count: the newest accepted one of every source and period.
pub(in crate::statement) async fn newest(
    conn: &mut PgConnection,
    source: Option<SourceId>,
) -> Result<Vec<Terms>, StoreError> {
    let rows = sqlx::query!(
        "SELECT DISTINCT ON (s.source_id, s.livemode, s.period_from, s.period_to) s.statement_id, o.slug, s.livemode,
                s.period_from, s.period_to, s.absolute_tolerance, s.relative_tolerance
         FROM statements s JOIN sources o ON o.source_id = s.source_id
         WHERE s.accepted AND ($1::uuid IS NULL OR s.source_id = $1)
         ORDER BY s.source_id, s.livemode, s.period_from, s.period_to, s.number DESC",
        source.map(|source| source.0),
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Terms {
                id: StatementId(row.statement_id),
                source: row.slug,
                livemode: row.livemode,
                period: period(row.period_from, row.period_to)?,
                tolerance: tolerance(row.absolute_tolerance, row.relative_tolerance)?,
            })
        })
        .collect()
}

/// Something that either side says, with the group it belongs to.
pub(in crate::statement) struct EntryRow {
    pub(in crate::statement) statement: StatementId,
    pub(in crate::statement) reference: String,
    pub(in crate::statement) meter: Meter,
    pub(in crate::statement) entry: Entry,
    pub(in crate::statement) job: Option<(TenantId, JobId)>,
}

struct Row {
    statement_id: Uuid,
    reference: String,
    meter: String,
    kind: String,
    quantity: Option<Decimal>,
    tenant_id: Option<Uuid>,
    job_id: Option<Uuid>,
}

impl TryFrom<Row> for EntryRow {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let told = row.quantity.unwrap_or_default();
        let entry = match row.kind.as_str() {
            "line" => Entry::Line(told),
            "elsewhere" => Entry::Elsewhere(told),
            standing => {
                let standing: Standing = standing
                    .parse()
                    .map_err(|error| StoreError::inconsistent("jobs", "state", error))?;
                Entry::Job(standing, row.quantity)
            }
        };
        Ok(Self {
            statement: StatementId(row.statement_id),
            reference: row.reference,
            meter: (row.meter.parse())
                .map_err(|error| StoreError::inconsistent("settlements", "snapshot", error))?,
            entry,
            job: row.tenant_id.map(TenantId).zip(row.job_id.map(JobId)),
        })
    }
}

/// Every entry of the statements that count, by statement, reference and meter.
///
/// Our usage is what the job's newest settlement was rated from. A job finished when its first completion
/// occurred: a later correction of its usage does not move it to another period. A job that names no source
/// is of the source whose event settled it.
pub(in crate::statement) fn entries(
    conn: &mut PgConnection,
    source: Option<SourceId>,
) -> impl Stream<Item = Result<EntryRow, StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        Row,
        r#"WITH newest AS MATERIALIZED (
               SELECT DISTINCT ON (source_id, livemode, period_from, period_to) statement_id, source_id, livemode,
                      period_from, period_from::timestamp AT TIME ZONE 'UTC' AS begins,
                      period_to, period_to::timestamp AT TIME ZONE 'UTC' AS ends
               FROM statements WHERE accepted AND ($1::uuid IS NULL OR source_id = $1)
               ORDER BY source_id, livemode, period_from, period_to, number DESC),
           told AS MATERIALIZED (
               SELECT n.statement_id, n.source_id, n.period_from, n.period_to, l.meter, l.quantity,
                      coalesce(l.reference, j.provider_reference, 'job_' || replace(l.job_id::text, '-', '')) reference
               FROM newest n JOIN statement_lines l USING (statement_id)
               LEFT JOIN jobs j ON j.job_id = l.job_id AND j.livemode = n.livemode
                   AND coalesce(j.source_id, n.source_id) = n.source_id),
           about AS MATERIALIZED (
               SELECT n.statement_id, j.tenant_id, j.job_id FROM newest n
               JOIN jobs j ON j.livemode = n.livemode AND coalesce(j.source_id, n.source_id) = n.source_id
                   AND j.usage_occurred_at >= n.begins AND (j.usage_revision > 1 OR j.usage_occurred_at < n.ends)
               UNION SELECT t.statement_id, r.job_tenant_id, r.job_id FROM told t
               JOIN provider_references r ON r.source_id = t.source_id AND r.provider_reference = t.reference
               UNION SELECT l.statement_id, j.tenant_id, j.job_id
               FROM newest JOIN statement_lines l USING (statement_id) JOIN jobs j USING (job_id)),
           known AS MATERIALIZED (
               SELECT n.statement_id, j.tenant_id, j.job_id, rated.lines,
                      coalesce(j.provider_reference, 'job_' || replace(j.job_id::text, '-', '')) AS reference,
                      CASE WHEN j.state IN ('pending', 'running') THEN 'under_way'
                           WHEN finished.at >= n.begins AND finished.at < n.ends THEN 'within'
                           ELSE 'outside' END AS standing
               FROM about JOIN newest n USING (statement_id) JOIN jobs j USING (tenant_id, job_id)
               LEFT JOIN LATERAL (
                   SELECT s.snapshot->'rating'->'lines' AS lines, s.event_id FROM settlements s
                   WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id
                     AND s.phase IN ('capture', 'adjustment') AND s.snapshot ? 'rating'
                   ORDER BY s.phase = 'adjustment' DESC, s.version DESC LIMIT 1) rated ON true
               LEFT JOIN events e ON e.event_id = rated.event_id AND e.livemode = j.livemode
               LEFT JOIN LATERAL (
                   SELECT c.occurred_at FROM settlements s JOIN events c USING (event_id, livemode)
                   WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id
                     AND s.phase = 'capture' ORDER BY s.version LIMIT 1) first ON j.usage_revision > 1
               CROSS JOIN LATERAL (SELECT coalesce(first.occurred_at, j.usage_occurred_at, j.state_at) AS at) finished
               WHERE j.livemode = n.livemode AND coalesce(j.source_id, e.source_id, n.source_id) = n.source_id),
           used AS MATERIALIZED (
               SELECT k.statement_id, k.reference, k.standing, k.job_id, line->>'meter' AS meter,
                      (line->>'quantity')::numeric AS quantity
               FROM known k CROSS JOIN LATERAL jsonb_array_elements(k.lines) AS line),
           groups AS MATERIALIZED (
               SELECT statement_id, reference, meter FROM told
               UNION SELECT statement_id, reference, meter FROM used WHERE standing = 'within')
           SELECT statement_id AS "statement_id!", reference AS "reference!", meter AS "meter!", kind AS "kind!",
                  quantity, tenant_id, job_id
           FROM (
               SELECT statement_id, reference, meter, 'line' AS kind, quantity, NULL::uuid AS tenant_id,
                      NULL::uuid AS job_id FROM told
               UNION ALL SELECT g.statement_id, g.reference, g.meter, k.standing, u.quantity, k.tenant_id, k.job_id
               FROM groups g JOIN known k USING (statement_id, reference)
               LEFT JOIN used u ON u.statement_id = g.statement_id AND u.job_id = k.job_id AND u.meter = g.meter
               UNION ALL SELECT g.statement_id, g.reference, g.meter, 'elsewhere', t.quantity, NULL, NULL
               FROM groups g JOIN newest n USING (statement_id)
               JOIN told t ON t.reference = g.reference AND t.meter = g.meter AND t.source_id = n.source_id
                   AND (t.period_to <= n.period_from OR t.period_from >= n.period_to)) AS entries
           ORDER BY statement_id, reference COLLATE "C", meter COLLATE "C", job_id"#,
        source.map(|source| source.0),
    )
    .fetch(conn)
    .map(|row| EntryRow::try_from(row?))
}
