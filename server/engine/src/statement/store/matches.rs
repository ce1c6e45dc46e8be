//! Changes of matches.

use chrono::{DateTime, Utc};
use domain::{
    id::{MatchId, OperatorId, SourceId, StatementId},
    statement::Side,
};
use sqlx::PgConnection;

use crate::{error::StoreError, statement::matches::NewMatch};

/// A match as it is stored.
pub(in crate::statement) struct Match<'a> {
    pub(in crate::statement) new: &'a NewMatch,
    pub(in crate::statement) reason: &'a str,
    pub(in crate::statement) by: OperatorId,
    pub(in crate::statement) at: DateTime<Utc>,
}

/// The source of an accepted statement, and whether no newer one of its period counts.
pub(in crate::statement) async fn counts(
    conn: &mut PgConnection,
    id: StatementId,
) -> Result<Option<(SourceId, bool)>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT s.source_id, NOT EXISTS (
               SELECT FROM statements n
               WHERE n.accepted AND n.source_id = s.source_id AND n.livemode = s.livemode
                 AND n.period_from = s.period_from AND n.period_to = s.period_to AND n.number > s.number) AS "newest!"
           FROM statements s WHERE s.statement_id = $1 AND s.accepted"#,
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.map(|row| (SourceId(row.source_id), row.newest)))
}

/// Inserts a match; says whether its form was not sent before.
pub(in crate::statement) async fn insert_match(
    conn: &mut PgConnection,
    row: &Match<'_>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO statement_matches (match_id, statement_id, source_id, livemode, period_from, period_to, meter, reason,
             matched_by, matched_at)
         SELECT $1, statement_id, source_id, livemode, period_from, period_to, $3, $4, $5, $6
         FROM statements WHERE statement_id = $2
         ON CONFLICT ON CONSTRAINT statement_matches_pkey DO NOTHING",
        row.new.key.0,
        row.new.statement.0,
        row.new.meter.as_str(),
        row.reason,
        row.by.0,
        row.at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether what the key stands for is just this.
pub(in crate::statement) async fn is_known(
    conn: &mut PgConnection,
    row: &Match<'_>,
) -> Result<bool, StoreError> {
    let parts: Vec<&str> = row.new.parts.iter().map(String::as_str).collect();
    let known = sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM statement_matches m
               WHERE match_id = $1 AND statement_id = $2 AND meter = $3 AND reason = $4 AND matched_by = $5
                 AND $6 = ARRAY(SELECT reference FROM statement_match_parts p WHERE p.match_id = m.match_id
                                ORDER BY reference COLLATE "C")
           ) AS "known!""#,
        row.new.key.0,
        row.new.statement.0,
        row.new.meter.as_str(),
        row.reason,
        row.by.0,
        &parts as &[&str],
    )
    .fetch_one(conn)
    .await?;
    Ok(known)
}

/// Those of the chosen groups that one side has alone, and which side that is.
pub(in crate::statement) async fn lone(
    conn: &mut PgConnection,
    new: &NewMatch,
) -> Result<Vec<(String, Side)>, StoreError> {
    let parts: Vec<&str> = new.parts.iter().map(String::as_str).collect();
    let rows = sqlx::query!(
        r#"SELECT reference, outcome = 'missing_with_us' AS "theirs!" FROM statement_groups
           WHERE statement_id = $1 AND meter = $2 AND reference = ANY ($3) AND match_id IS NULL
             AND outcome IN ('missing_with_us', 'missing_with_provider')"#,
        new.statement.0,
        new.meter.as_str(),
        &parts as &[&str],
    )
    .fetch_all(conn)
    .await?;
    let side = |theirs| if theirs { Side::Theirs } else { Side::Ours };
    Ok(rows
        .into_iter()
        .map(|row| (row.reference, side(row.theirs)))
        .collect())
}

/// Inserts the parts of a match; says whether none of them is in another.
pub(in crate::statement) async fn insert_parts(
    conn: &mut PgConnection,
    new: &NewMatch,
    parts: &[(String, Side)],
) -> Result<bool, StoreError> {
    let references: Vec<&str> = parts.iter().map(|(reference, _)| &**reference).collect();
    let sides: Vec<&str> = parts.iter().map(|(_, side)| side.as_str()).collect();
    let done = sqlx::query!(
        "INSERT INTO statement_match_parts (match_id, meter, reference, side)
         SELECT $1, $2, * FROM unnest($3::text[], $4::text[])",
        new.key.0,
        new.meter.as_str(),
        &references as &[&str],
        &sides as &[&str],
    )
    .execute(conn)
    .await;
    match done {
        Ok(_) => Ok(true),
        Err(sqlx::Error::Database(error))
            if error.constraint() == Some("statement_match_parts_in_one") =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// The source a match is about.
pub(in crate::statement) async fn source_of_match(
    conn: &mut PgConnection,
    id: MatchId,
) -> Result<Option<SourceId>, StoreError> {
    let source = sqlx::query_scalar!(
        "SELECT source_id FROM statement_matches WHERE match_id = $1",
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    Ok(source.map(SourceId))
}

/// Takes a match back; says whether nobody did before.
pub(in crate::statement) async fn insert_undo(
    conn: &mut PgConnection,
    (id, reason): (MatchId, &str),
    by: OperatorId,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "INSERT INTO statement_match_undos (match_id, reason, undone_by, undone_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT ON CONSTRAINT statement_match_undos_pkey DO NOTHING",
        id.0,
        reason,
        by.0,
        at,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Whether a match was taken back by this person in these words.
pub(in crate::statement) async fn is_undone(
    conn: &mut PgConnection,
    (id, reason): (MatchId, &str),
    by: OperatorId,
) -> Result<bool, StoreError> {
    let known = sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM statement_match_undos WHERE match_id = $1 AND reason = $2 AND undone_by = $3
           ) AS "known!""#,
        id.0,
        reason,
        by.0,
    )
    .fetch_one(conn)
    .await?;
    Ok(known)
}
