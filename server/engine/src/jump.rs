//! From any id to the thing: ids with their prefix, settlement keys, the provider's references and the
//! caller's own request ids. Exact matches on indexes only, so it answers at once on any amount of data.

mod views;

use domain::{
    id::{EventId, JobId, SettlementId, TenantId, WalletId},
    settlement::Phase,
};

use crate::{Engine, error::StoreError};

/// Longer texts name nothing.
const MAX_BYTES: usize = 300;

/// Something that answers to a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A job.
    Job {
        /// Id.
        id: JobId,
        /// Its state.
        state: String,
        /// Its model.
        model: String,
    },
    /// An event.
    Event {
        /// Id.
        id: EventId,
        /// What the sender calls it.
        kind: String,
        /// Its state.
        state: String,
    },
    /// A settlement.
    Settlement {
        /// Id.
        id: SettlementId,
        /// Its key.
        key: String,
    },
    /// A wallet.
    Wallet {
        /// Id.
        id: WalletId,
        /// Its name.
        name: String,
    },
    /// A tenant.
    Tenant {
        /// Id.
        id: TenantId,
        /// Its name.
        name: String,
    },
}

/// What answers to a text; at most a handful.
///
/// # Errors
/// [`StoreError`].
pub async fn find(engine: &Engine, text: &str) -> Result<Vec<Found>, StoreError> {
    if text.is_empty() || text.len() > MAX_BYTES || text.chars().any(char::is_control) {
        return Ok(Vec::new());
    }
    let mut conn = engine.pool().acquire().await?;
    if let Ok(id) = text.parse::<JobId>() {
        return views::job(&mut conn, id).await;
    }
    if let Ok(id) = text.parse::<EventId>() {
        return views::event(&mut conn, id).await;
    }
    if let Ok(id) = text.parse::<SettlementId>() {
        return views::settlement(&mut conn, id).await;
    }
    if let Ok(id) = text.parse::<WalletId>() {
        return views::wallet(&mut conn, id).await;
    }
    if let Ok(id) = text.parse::<TenantId>() {
        return views::tenant(&mut conn, id).await;
    }
    if let Some((tenant, job, phase, version)) = key(text) {
        return views::key(&mut conn, tenant, job, phase, version).await;
    }
    views::named(&mut conn, text).await
}

/// `tenant_…/job_…/capture/1`
fn key(text: &str) -> Option<(TenantId, uuid::Uuid, Phase, i32)> {
    let mut parts = text.split('/');
    let tenant = parts.next()?.parse().ok()?;
    let subject = parts.next()?;
    let subject = subject
        .parse::<JobId>()
        .map(|job| job.0)
        .or_else(|_| subject.parse::<domain::id::LotId>().map(|lot| lot.0))
        .ok()?;
    let phase = parts.next()?.parse().ok()?;
    let version = parts.next()?.parse().ok()?;
    parts
        .next()
        .is_none()
        .then_some((tenant, subject, phase, version))
}
