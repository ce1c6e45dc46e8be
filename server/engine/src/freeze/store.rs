//! Changes of freezes, and what settling reads of them.

use chrono::{DateTime, Utc};
use domain::id::{ActionId, SourceId, TenantId};
use sqlx::PgConnection;

use super::{Maker, Of, Seen};
use crate::error::StoreError;

pub(super) async fn seen(
    conn: &mut PgConnection,
    since: DateTime<Utc>,
) -> Result<Seen, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT tenant_id, source_id, reason AS "reason!", lifted_at FROM freezes_seen($1) ORDER BY lifted_at"#,
        since,
    )
    .fetch_all(conn)
    .await?;
    let mut seen = Seen::default();
    for row in rows {
        let (tenant, source) = (row.tenant_id.map(TenantId), row.source_id.map(SourceId));
        let of = tenant.map(Of::Tenant).or(source.map(Of::Source));
        match (row.lifted_at, of) {
            // Ordered, so the last lift stays.
            (Some(at), Some(of)) => {
                seen.lifted.insert(of, at);
            }
            (None, Some(Of::Tenant(tenant))) => {
                seen.tenants.insert(tenant, row.reason);
            }
            (None, Some(Of::Source(source))) => {
                seen.sources.insert(source);
            }
            (_, None) => {
                let error = "a freeze is of a tenant or of a source";
                return Err(StoreError::inconsistent("freezes", "tenant_id", error));
            }
        }
    }
    Ok(seen)
}

pub(super) async fn hold(conn: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!("SELECT freezes_hold()").execute(conn).await?;
    Ok(())
}

pub(super) async fn insert(
    conn: &mut PgConnection,
    of: Of,
    reason: &str,
    maker: Maker,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let (action, rule, run) = match maker {
        Maker::Action(action) => (Some(action.0), None, None),
        Maker::Rule { version, run } => (None, Some(version), Some(run)),
    };
    let done = sqlx::query!(
        "INSERT INTO freezes (tenant_id, source_id, reason, frozen_at, frozen_by, rule_version, run_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
        of.tenant().map(|tenant| tenant.0),
        of.source().map(|source| source.0),
        reason,
        at,
        action,
        rule,
        run,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub(super) async fn lift(
    conn: &mut PgConnection,
    of: Of,
    action: ActionId,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let done = sqlx::query!(
        "UPDATE freezes SET lifted_at = $3, lifted_by = $4
         WHERE lifted_at IS NULL AND (tenant_id = $1 OR source_id = $2)",
        of.tenant().map(|tenant| tenant.0),
        of.source().map(|source| source.0),
        at,
        action.0,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Makes due what was held back, looked at as if for the first time. Workers lock events before they ask for
/// their share of the freezes' lock, so an event that is locked is passed over: its worker reads the lift.
pub(super) async fn wake(
    conn: &mut PgConnection,
    of: Of,
    now: DateTime<Utc>,
) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "UPDATE events SET due_at = $3, attempts = 0
         WHERE event_id IN (
             SELECT event_id FROM events
             WHERE state = 'waiting' AND (reason = 'tenant_frozen' AND tenant_id = $1
                                          OR reason = 'source_frozen' AND source_id = $2)
             FOR UPDATE SKIP LOCKED)",
        of.tenant().map(|tenant| tenant.0),
        of.source().map(|source| source.0),
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

pub(super) async fn insert_rule(
    conn: &mut PgConnection,
    above: Option<i32>,
    by: &str,
    now: DateTime<Utc>,
) -> Result<i32, StoreError> {
    let version = sqlx::query_scalar!(
        "INSERT INTO freeze_rules (version, above, created_at, created_by)
         SELECT coalesce(max(version), 0) + 1, $1, $2, $3 FROM freeze_rules
         RETURNING version",
        above,
        now,
        by,
    )
    .fetch_one(conn)
    .await?;
    Ok(version)
}
