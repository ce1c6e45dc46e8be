//! Saving changed jobs as a set.

use chrono::{DateTime, Utc};
use domain::{job::Job, money::Amount};
use sqlx::PgConnection;
use uuid::Uuid;

use super::JobRow;
use crate::error::StoreError;

/// Picks a text of a row, where there is one.
type PickText<'r> = fn(&'r JobRow) -> Option<&'r str>;

/// Saves changed jobs.
pub(in crate::settlement) async fn save_jobs<'r>(
    conn: &mut PgConnection,
    rows: &[&'r JobRow],
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let uuids = |pick: fn(&JobRow) -> Uuid| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let amounts = |pick: fn(&Job) -> Amount| {
        rows.iter()
            .map(|row| pick(&row.job).value())
            .collect::<Vec<_>>()
    };
    let counts = |pick: fn(&JobRow) -> i32| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let uuids_or_null =
        |pick: fn(&JobRow) -> Option<Uuid>| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let words =
        |pick: fn(&JobRow) -> &'static str| rows.iter().map(|row| pick(row)).collect::<Vec<_>>();
    let texts: fn(&[&'r JobRow], PickText<'r>) -> Vec<Option<&'r str>> =
        |rows, pick| rows.iter().map(|row| pick(row)).collect();
    let billed = Usage::of(rows);
    let entered: Vec<_> = rows
        .iter()
        .map(|row| row.state_changed.then_some(now))
        .collect();
    let saved = sqlx::query!(
        r#"UPDATE jobs SET state = n.state, state_reason = n.state_reason, settlement_state = n.settlement_state,
               held = n.held, captured = n.captured, receivable = n.receivable, reserve_version = n.reserve,
               capture_version = n.capture, release_version = n.release, adjustment_version = n.adjustment,
               usage_revision = n.revision, usage_occurred_at = n.occurred_at, usage_hash = n.hash,
               due = n.due, transition_count = n.transitions, source_id = n.source_id, provider_reference = n.reference,
               state_at = coalesce(n.entered, jobs.state_at)
           FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::numeric[], $7::numeric[],
               $8::numeric[], $9::int[], $10::int[], $11::int[], $12::int[], $13::int[], $14::timestamptz[],
               $15::bytea[], $16::int[], $17::uuid[], $18::text[], $19::timestamptz[],
               $20::numeric[])
               AS n (tenant_id, job_id, state, state_reason, settlement_state, held, captured, receivable, reserve,
                   capture, release, adjustment, revision, occurred_at, hash, transitions, source_id, reference, entered, due)
           WHERE jobs.tenant_id = n.tenant_id AND jobs.job_id = n.job_id"#,
        &uuids(|row| row.tenant.0),
        &uuids(|row| row.id.0),
        &words(|row| row.job.state.as_str()) as &[&str],
        &texts(rows, |row| row.job.state_reason.as_deref()) as &[Option<&str>],
        &words(|row| row.job.settlement_state().as_str()) as &[&str],
        &amounts(|job| job.held),
        &amounts(|job| job.captured),
        &amounts(|job| job.receivable),
        &counts(|row| row.job.versions.reserve),
        &counts(|row| row.job.versions.capture),
        &counts(|row| row.job.versions.release),
        &counts(|row| row.job.versions.adjustment),
        &billed.revisions as &[Option<i32>],
        &billed.occurred as &[Option<DateTime<Utc>>],
        &billed.hashes as &[Option<&[u8]>],
        &counts(|row| row.transition_count),
        &uuids_or_null(|row| row.source.map(|source| source.0)) as &[Option<Uuid>],
        &texts(rows, |row| row.reference.as_deref()) as &[Option<&str>],
        &entered as &[Option<DateTime<Utc>>],
        &amounts(|job| job.due),
    )
    .execute(conn)
    .await?;
    if saved.rows_affected() == rows.len() as u64 {
        return Ok(());
    }
    Err(StoreError::inconsistent(
        "jobs",
        "state",
        "a locked job is gone",
    ))
}

/// The usage billed now, by column.
struct Usage<'r> {
    revisions: Vec<Option<i32>>,
    occurred: Vec<Option<DateTime<Utc>>>,
    hashes: Vec<Option<&'r [u8]>>,
}

impl<'r> Usage<'r> {
    fn of(rows: &[&'r JobRow]) -> Self {
        let billed = || rows.iter().map(|row| row.job.billed.as_ref());
        Self {
            revisions: billed()
                .map(|usage| usage.map(|usage| usage.revision))
                .collect(),
            occurred: billed()
                .map(|usage| usage.map(|usage| usage.occurred_at))
                .collect(),
            hashes: billed()
                .map(|usage| usage.map(|usage| usage.hash.0.as_slice()))
                .collect(),
        }
    }
}
