//! Exact look-ups for the jump.

use domain::{
    id::{EventId, JobId, SettlementId, TenantId, WalletId},
    settlement::Phase,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Found;
use crate::error::StoreError;

type Answer = Result<Vec<Found>, StoreError>;

pub(super) async fn job(conn: &mut PgConnection, id: JobId) -> Answer {
    let rows = sqlx::query!(
        "SELECT job_id, state, model FROM jobs WHERE job_id = $1",
        id.0
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| Found::Job {
        id: JobId(row.job_id),
        state: row.state,
        model: row.model,
    });
    Ok(found.collect())
}

pub(super) async fn event(conn: &mut PgConnection, id: EventId) -> Answer {
    let rows = sqlx::query!(
        "SELECT event_id, kind, state FROM events WHERE event_id = $1",
        id.0
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| Found::Event {
        id: EventId(row.event_id),
        kind: row.kind,
        state: row.state,
    });
    Ok(found.collect())
}

pub(super) async fn settlement(conn: &mut PgConnection, id: SettlementId) -> Answer {
    let rows = sqlx::query!(
        r#"SELECT settlement_id, 'tenant_' || replace(tenant_id::text, '-', '') || '/' || subject_kind || '_'
                  || replace(subject_id::text, '-', '') || '/' || phase || '/' || version AS "key!"
           FROM settlements WHERE settlement_id = $1"#,
        id.0
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| Found::Settlement {
        id: SettlementId(row.settlement_id),
        key: row.key,
    });
    Ok(found.collect())
}

pub(super) async fn key(
    conn: &mut PgConnection,
    tenant: TenantId,
    subject: Uuid,
    phase: Phase,
    version: i32,
) -> Answer {
    let id = sqlx::query_scalar!(
        "SELECT settlement_id FROM settlements
         WHERE tenant_id = $1 AND subject_kind IN ('job', 'lot') AND subject_id = $2 AND phase = $3 AND version = $4",
        tenant.0,
        subject,
        phase.as_str(),
        version,
    )
    .fetch_optional(&mut *conn)
    .await?;
    match id {
        Some(id) => settlement(conn, SettlementId(id)).await,
        None => Ok(Vec::new()),
    }
}

pub(super) async fn wallet(conn: &mut PgConnection, id: WalletId) -> Answer {
    let rows = sqlx::query!(
        "SELECT wallet_id, name FROM wallets WHERE wallet_id = $1",
        id.0
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| Found::Wallet {
        id: WalletId(row.wallet_id),
        name: row.name,
    });
    Ok(found.collect())
}

pub(super) async fn tenant(conn: &mut PgConnection, id: TenantId) -> Answer {
    let rows = sqlx::query!(
        "SELECT tenant_id, name FROM tenants WHERE tenant_id = $1",
        id.0
    )
    .fetch_all(conn)
    .await?;
    let found = rows.into_iter().map(|row| Found::Tenant {
        id: TenantId(row.tenant_id),
        name: row.name,
    });
    Ok(found.collect())
}

/// By the provider's reference, by the caller's own request id or user, by the sender's event id.
pub(super) async fn named(conn: &mut PgConnection, text: &str) -> Answer {
    let jobs = sqlx::query!(
        r#"SELECT job_id AS "job_id!", state AS "state!", model AS "model!" FROM (
               SELECT j.job_id, j.state, j.model FROM sources s
               JOIN jobs j ON j.source_id = s.source_id AND j.provider_reference = $1
               UNION
               SELECT job_id, state, model FROM jobs WHERE client_request_id = $1
               UNION
               SELECT mine.job_id, mine.state, mine.model FROM tenants t
               CROSS JOIN LATERAL (
                   SELECT job_id, state, model FROM jobs
                   WHERE tenant_id = t.tenant_id AND user_id = $1 LIMIT 100) mine) found
           ORDER BY job_id DESC LIMIT 8"#,
        text,
    )
    .fetch_all(&mut *conn)
    .await?;
    let events = sqlx::query!(
        "SELECT e.event_id, e.kind, e.state FROM sources s
         JOIN events e ON e.source_id = s.source_id AND e.event_key = $1
         ORDER BY e.event_id DESC LIMIT 8",
        text,
    )
    .fetch_all(conn)
    .await?;
    let jobs = jobs.into_iter().map(|row| Found::Job {
        id: JobId(row.job_id),
        state: row.state,
        model: row.model,
    });
    let events = events.into_iter().map(|row| Found::Event {
        id: EventId(row.event_id),
        kind: row.kind,
        state: row.state,
    });
    Ok(jobs.chain(events).collect())
}
