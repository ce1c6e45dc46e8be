//! Matches as they are read, and what could be matched.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    id::{MatchId, SourceId, StatementId},
    statement::Side,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::groups::{GroupLine, GroupRow};
use crate::error::StoreError;

/// Most groups that are offered at once, of each side.
pub const MOST_LONE: i64 = 100;

/// A match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Match {
    /// Id.
    pub id: MatchId,
    /// What was counted.
    pub meter: String,
    /// Why they belong together.
    pub reason: String,
    /// Who decided it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Who took it back, when and why.
    pub undone: Option<(String, DateTime<Utc>, String)>,
    /// What it consists of, theirs first.
    pub parts: Vec<Part>,
}

/// A part of a match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its reference.
    pub reference: String,
    /// Which side had it when it was matched.
    pub side: Side,
    /// Our usage at the last check.
    pub ours: Option<Decimal>,
    /// What they stated at the last check.
    pub theirs: Option<Decimal>,
}

/// The matches of a statement's source and period, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn matches(conn: &mut PgConnection, id: StatementId) -> Result<Vec<Match>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT m.match_id, m.meter, m.reason, o.name, m.matched_at, p.reference, p.side, g.ours, g.theirs,
                  w.name AS "undone_by?", u.undone_at AS "undone_at?", u.reason AS "undone_reason?"
           FROM statements s
           JOIN statement_matches m ON m.source_id = s.source_id AND m.livemode = s.livemode
               AND m.period_from = s.period_from AND m.period_to = s.period_to
           JOIN statement_match_parts p USING (match_id)
           JOIN operators o ON o.operator_id = m.matched_by
           LEFT JOIN statement_match_undos u ON u.match_id = m.match_id
           LEFT JOIN operators w ON w.operator_id = u.undone_by
           LEFT JOIN statement_groups g ON g.statement_id = s.statement_id AND g.reference = p.reference
               AND g.meter = p.meter AND g.match_id = m.match_id
           WHERE s.statement_id = $1
           ORDER BY m.matched_at, m.match_id, p.side DESC, p.reference COLLATE "C""#,
        id.0,
    )
    .fetch_all(conn)
    .await?;
    let mut found: Vec<Match> = Vec::new();
    for row in rows {
        let side = row
            .side
            .parse()
            .map_err(|error| StoreError::inconsistent("statement_match_parts", "side", error))?;
        let part = Part {
            reference: row.reference,
            side,
            ours: row.ours,
            theirs: row.theirs,
        };
        let id = MatchId(row.match_id);
        match found.last_mut() {
            Some(last) if last.id == id => last.parts.push(part),
            _ => found.push(Match {
                id,
                meter: row.meter,
                reason: row.reason,
                by: row.name,
                at: row.matched_at,
                undone: (row.undone_by.zip(row.undone_at).zip(row.undone_reason))
                    .map(|((by, at), reason)| (by, at, reason)),
                parts: vec![part],
            }),
        }
    }
    Ok(found)
}

/// What one side has alone, of a meter: what they state of which we have no usage first.
///
/// # Errors
/// [`StoreError`].
pub async fn lone(
    conn: &mut PgConnection,
    id: StatementId,
    meter: &str,
) -> Result<Vec<GroupLine>, StoreError> {
    let rows = sqlx::query_as!(
        GroupRow,
        r#"SELECT position AS "position!", statement_id AS "statement_id!", reference AS "reference!", meter AS "meter!",
                  outcome AS "outcome!", ours, theirs, job_tenant_id, job_id
           FROM (SELECT *, row_number() OVER (PARTITION BY outcome ORDER BY position) AS place FROM statement_groups
                 WHERE statement_id = $1 AND meter = $2 AND match_id IS NULL
                   AND outcome IN ('missing_with_us', 'missing_with_provider')) AS lone
           WHERE place <= $3 ORDER BY outcome DESC, position"#,
        id.0,
        meter,
        MOST_LONE,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(GroupLine::try_from).collect()
}

/// Meters of which both sides have something alone.
///
/// # Errors
/// [`StoreError`].
pub async fn meters(conn: &mut PgConnection, id: StatementId) -> Result<Vec<String>, StoreError> {
    let meters = sqlx::query_scalar!(
        "SELECT meter FROM statement_groups
         WHERE statement_id = $1 AND match_id IS NULL AND outcome IN ('missing_with_us', 'missing_with_provider')
         GROUP BY meter HAVING count(DISTINCT outcome) = 2 ORDER BY meter",
        id.0,
    )
    .fetch_all(conn)
    .await?;
    Ok(meters)
}

/// The matches in force: of a statement that counts, a meter and a reference.
pub(in crate::statement) type InForce = HashMap<(StatementId, String, String), MatchId>;

/// The matches in force, of one source or of all.
pub(in crate::statement) async fn in_force(
    conn: &mut PgConnection,
    source: Option<SourceId>,
) -> Result<InForce, StoreError> {
    let rows = sqlx::query!(
        "SELECT s.statement_id, p.meter, p.reference, m.match_id
         FROM statement_matches m JOIN statement_match_parts p USING (match_id)
         CROSS JOIN LATERAL (
             SELECT s.statement_id FROM statements s
             WHERE s.accepted AND s.source_id = m.source_id AND s.livemode = m.livemode
               AND s.period_from = m.period_from AND s.period_to = m.period_to
             ORDER BY s.number DESC LIMIT 1) s
         WHERE ($1::uuid IS NULL OR m.source_id = $1)
           AND NOT EXISTS (SELECT FROM statement_match_undos u WHERE u.match_id = m.match_id)",
        source.map(|source| source.0),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let of = (StatementId(row.statement_id), row.meter, row.reference);
            (of, MatchId(row.match_id))
        })
        .collect())
}
