//! Changes of actions.

use chrono::{DateTime, Utc};
use domain::{
    action::{Kind, Request, State, Target},
    canonical::Hash,
    id::{ActionId, OperatorId, SettlementId},
    money::Currency,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use super::{dry_run::DryRun, place::Place, views::Action};
use crate::error::StoreError;

/// A new action.
pub(super) struct Draft<'a> {
    pub(super) id: ActionId,
    pub(super) place: Place,
    pub(super) request: &'a Request,
    pub(super) hash: Hash,
    pub(super) by: OperatorId,
    pub(super) now: DateTime<Utc>,
    pub(super) expires_at: DateTime<Utc>,
}

/// Inserts a draft; says whether its key was new.
pub(super) async fn insert(conn: &mut PgConnection, draft: &Draft<'_>) -> Result<bool, StoreError> {
    let (request, place) = (draft.request, draft.place);
    let (wallet, source) = match request.target {
        Target::Wallet(wallet) => (Some(wallet.0), None),
        Target::Source(source) => (None, Some(source.0)),
        Target::Tenant(_) => (None, None),
    };
    let done = sqlx::query!(
        "INSERT INTO actions (tenant_id, action_id, action, wallet_id, currency, livemode, amount, lot_expires_at,
                              category, reason, request_hash, state, requested_by, requested_at, expires_at,
                              job_id, undoes, conflict_id, source_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'draft', $12, $13, $14, $15, $16, $17, $18)
         ON CONFLICT ON CONSTRAINT actions_pkey DO NOTHING",
        place.tenant.0,
        draft.id.0,
        request.kind.as_str(),
        wallet,
        place.currency.map(|currency| currency.code()),
        place.livemode,
        request.amount.map(|amount| amount.value()),
        request.lot_expires_at,
        request.category.as_str(),
        request.reason,
        &draft.hash.0[..],
        draft.by.0,
        draft.now,
        draft.expires_at,
        request.job.map(|job| job.0),
        request.undoes.map(|settlement| settlement.0),
        request.conflict,
        source,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Takes an action's lock; says whether there is one.
pub(super) async fn lock(conn: &mut PgConnection, id: ActionId) -> Result<bool, StoreError> {
    let row = sqlx::query_scalar!(
        "SELECT action_id FROM actions WHERE action_id = $1 FOR UPDATE",
        id.0
    )
    .fetch_optional(conn)
    .await?;
    Ok(row.is_some())
}

/// The threshold in force.
pub(super) async fn threshold(
    conn: &mut PgConnection,
    kind: Kind,
    currency: Currency,
) -> Result<Option<Decimal>, StoreError> {
    let above = sqlx::query_scalar!(
        "SELECT above FROM approval_thresholds WHERE action = $1 AND currency = $2
         ORDER BY version DESC LIMIT 1",
        kind.as_str(),
        currency.code(),
    )
    .fetch_optional(conn)
    .await?;
    Ok(above)
}

/// The action waits for a second person, on what its maker saw.
pub(super) async fn wait(
    conn: &mut PgConnection,
    action: &Action,
    basis: Hash,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE actions SET state = 'waiting', basis_hash = $3
         WHERE tenant_id = $1 AND action_id = $2",
        action.tenant.0,
        action.id.0,
        &basis.0[..],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// An action that was carried out.
pub(super) struct Done<'a> {
    pub(super) action: &'a Action,
    /// The dry run it was carried out on.
    pub(super) run: &'a DryRun,
    pub(super) approved_by: Option<OperatorId>,
    pub(super) decided_by: OperatorId,
    pub(super) settlement: Option<SettlementId>,
    pub(super) at: DateTime<Utc>,
}

/// The action is in force.
pub(super) async fn finish(conn: &mut PgConnection, done: &Done<'_>) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE actions SET state = 'done', needs_approval = $3, approved_by = $4, decided_by = $5, decided_at = $6,
                            basis_hash = $7, settlement_id = $8
         WHERE tenant_id = $1 AND action_id = $2",
        done.action.tenant.0,
        done.action.id.0,
        done.run.needs_approval,
        done.approved_by.map(|operator| operator.0),
        done.decided_by.0,
        done.at,
        &done.run.basis.0[..],
        done.settlement.map(|settlement| settlement.0),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// The action ends without effect.
pub(super) async fn end(
    conn: &mut PgConnection,
    action: &Action,
    state: State,
    reason: Option<&str>,
    by: OperatorId,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "UPDATE actions SET state = $3, decision_reason = $4, decided_by = $5, decided_at = $6
         WHERE tenant_id = $1 AND action_id = $2",
        action.tenant.0,
        action.id.0,
        state.as_str(),
        reason,
        by.0,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn expire(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<u64, StoreError> {
    let done = sqlx::query!(
        "UPDATE actions SET state = 'expired', decided_at = $1
         WHERE state IN ('draft', 'waiting') AND expires_at <= $1",
        now,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Sets a threshold; the newest version is in force.
pub(super) async fn insert_threshold(
    conn: &mut PgConnection,
    (kind, currency): (Kind, Currency),
    above: Decimal,
    by: &str,
    now: DateTime<Utc>,
) -> Result<i32, StoreError> {
    let version = sqlx::query_scalar!(
        "INSERT INTO approval_thresholds (action, currency, version, above, created_at, created_by)
         SELECT $1, $2, coalesce(max(version), 0) + 1, $3, $4, $5 FROM approval_thresholds
         WHERE action = $1 AND currency = $2
         RETURNING version",
        kind.as_str(),
        currency.code(),
        above,
        now,
        by,
    )
    .fetch_one(conn)
    .await?;
    Ok(version)
}
