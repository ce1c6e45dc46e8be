//! SQL of the first page.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use domain::{event::EventState, money::Amount};
use sqlx::PgConnection;

use super::{Backlog, DaySum, Minute, Refused, Speed, currency};
use crate::error::StoreError;

/// Where counting stops: beyond it the exact number tells nobody more.
pub const MOST: i64 = 10_000;

pub(super) async fn in_flight(
    conn: &mut PgConnection,
    livemode: bool,
) -> Result<Backlog, StoreError> {
    let backlog = sqlx::query_as!(
        Backlog,
        r#"SELECT count(*) AS "count!", min(submitted_at) AS oldest
           FROM (SELECT submitted_at FROM jobs WHERE state IN ('pending', 'running') AND livemode = $2 LIMIT $1) AS counted"#,
        MOST,
        livemode,
    )
    .fetch_one(conn)
    .await?;
    Ok(backlog)
}

pub(super) async fn due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
) -> Result<Backlog, StoreError> {
    let backlog = sqlx::query_as!(
        Backlog,
        r#"SELECT count(*) AS "count!", min(due_at) AS oldest
           FROM (SELECT due_at FROM events WHERE due_at <= $1 ORDER BY due_at, event_id LIMIT $2) AS counted"#,
        now,
        MOST,
    )
    .fetch_one(conn)
    .await?;
    Ok(backlog)
}

pub(super) async fn attention(
    conn: &mut PgConnection,
    livemode: bool,
) -> Result<BTreeMap<EventState, i64>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT state, count(*) AS "count!"
           FROM (SELECT state FROM events WHERE state IN ('waiting', 'failed', 'rejected', 'conflict') AND livemode = $2
                 ORDER BY event_id DESC LIMIT $1) AS newest
           GROUP BY state"#,
        MOST,
        livemode,
    )
    .fetch_all(conn)
    .await?;
    let parse = |word: String| {
        word.parse()
            .map_err(|error| StoreError::inconsistent("events", "state", error))
    };
    rows.into_iter()
        .map(|row| Ok((parse(row.state)?, row.count)))
        .collect()
}

pub(super) async fn conflicts(conn: &mut PgConnection, livemode: bool) -> Result<i64, StoreError> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (SELECT 1 FROM open_conflicts WHERE livemode = $2 LIMIT $1) AS counted"#,
        MOST,
        livemode,
    )
    .fetch_one(conn)
    .await?;
    Ok(count)
}

/// `from` is the beginning of a minute.
pub(super) async fn pace(
    conn: &mut PgConnection,
    from: DateTime<Utc>,
    minutes: i64,
) -> Result<Vec<Minute>, StoreError> {
    let rows = sqlx::query_as!(
        Minute,
        r#"WITH heard AS (
               SELECT date_bin('1 minute', received_at, $1) AS at, count(*) FILTER (WHERE outcome = 'accepted') AS accepted,
                      count(*) FILTER (WHERE outcome = 'duplicate') AS duplicates
               FROM deliveries WHERE received_at >= $1 GROUP BY 1),
           done AS (
               SELECT date_bin('1 minute', settled_at, $1) AS at, count(*) AS settled
               FROM settlements WHERE settled_at >= $1 AND phase IN ('capture', 'release', 'adjustment') GROUP BY 1)
           SELECT $1::timestamptz + n * interval '1 minute' AS "at!", coalesce(heard.accepted, 0) AS "accepted!",
                  coalesce(heard.duplicates, 0) AS "duplicates!", coalesce(done.settled, 0) AS "settled!"
           FROM generate_series(0::int, $2::int - 1) AS n
           LEFT JOIN heard ON heard.at = $1::timestamptz + n * interval '1 minute'
           LEFT JOIN done ON done.at = $1::timestamptz + n * interval '1 minute'
           ORDER BY n"#,
        from,
        minutes as i32,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows)
}

pub(super) async fn day(
    conn: &mut PgConnection,
    day: NaiveDate,
) -> Result<Vec<DaySum>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT livemode, phase, currency, count(*) AS "count!", sum(amount) AS "sum!"
           FROM settlements
           WHERE settled_at >= $1::date::timestamp AT TIME ZONE 'UTC'
             AND settled_at < ($1::date + 1)::timestamp AT TIME ZONE 'UTC'
           GROUP BY livemode, phase, currency ORDER BY livemode DESC, currency, phase"#,
        day,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let amount = Amount::exact(row.sum, currency(&row.currency)?);
            Ok(DaySum {
                livemode: row.livemode,
                phase: row
                    .phase
                    .parse()
                    .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?,
                count: row.count,
                amount: amount
                    .map_err(|error| StoreError::inconsistent("settlements", "amount", error))?,
            })
        })
        .collect()
}

/// Measures the newest thousand events that were decided at their first look.
pub(super) async fn speed(conn: &mut PgConnection) -> Result<Speed, StoreError> {
    let row = sqlx::query!(
        r#"SELECT count(*) AS "measured!",
                  (1000 * coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY took), 0))::bigint AS "median!",
                  (1000 * coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY took), 0))::bigint AS "slow!"
           FROM (SELECT extract(epoch FROM decided_at - received_at) AS took FROM events
                 WHERE decided_at IS NOT NULL AND attempts = 0 ORDER BY event_id DESC LIMIT 1000) AS newest"#,
    )
    .fetch_one(conn)
    .await?;
    Ok(Speed {
        measured: row.measured,
        median: TimeDelta::milliseconds(row.median),
        slow: TimeDelta::milliseconds(row.slow),
    })
}

/// Groups the newest thousand refused deliveries, those since an instant, by source and reason.
pub(super) async fn refused(
    conn: &mut PgConnection,
    since: DateTime<Utc>,
) -> Result<Vec<Refused>, StoreError> {
    let groups = sqlx::query_as!(
        Refused,
        r#"SELECT source_slug AS source, reason AS "reason!", count(*) AS "count!", max(received_at) AS "last!"
           FROM (SELECT source_slug, reason, received_at FROM deliveries
                 WHERE outcome = 'rejected' ORDER BY delivery_id DESC LIMIT 1000) AS newest
           WHERE received_at >= $1
           GROUP BY source_slug, reason ORDER BY max(received_at) DESC LIMIT 5"#,
        since,
    )
    .fetch_all(conn)
    .await?;
    Ok(groups)
}
