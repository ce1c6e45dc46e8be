//! Expiring credit: what remains of a lot past its date becomes breakage.
//!
//! Credit that returns to an expired lot is expired by a later run, under the next version.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::{
    id::{LotId, TenantId, WalletId},
    money::Amount,
    settlement::{Effect, Entry, EntryType, Phase, SettlementKey, Subject},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::pause;
use crate::{
    Engine,
    ledger::{self, Batch, PostError, Posting},
};

/// Pause between runs.
const EVERY: Duration = Duration::from_secs(30);
/// Lots a transaction.
const BATCH: i64 = 200;

/// Works until stopped.
pub async fn run(engine: Engine, stop: CancellationToken) {
    loop {
        match expire(&engine).await {
            // More than one batch was due: go on at once.
            Ok(lots) if lots as i64 >= BATCH && !stop.is_cancelled() => continue,
            Ok(_) => {}
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "expiring credit failed"
                );
            }
        }
        if !pause(&stop, EVERY).await {
            return;
        }
    }
}

/// Expires one batch of lots and returns how many.
///
/// # Errors
/// [`PostError`].
pub async fn expire(engine: &Engine) -> Result<usize, PostError> {
    let at = engine.clock().now();
    let mut tx = engine
        .pool()
        .begin()
        .await
        .map_err(crate::error::StoreError::from)?;
    let due = ledger::expiring_wallets(&mut tx, at, BATCH).await?;
    let locked = ledger::lock(&mut tx, &due, &[]).await?;
    // Read under the locks: what remained before may have been spent meanwhile.
    let lots = ledger::expired_lots(&mut tx, &due, at).await?;
    let mut batch = Batch::new(locked, at);
    for lot in &lots {
        batch.add(engine, &posting(lot, at))?;
    }
    batch.write(&mut tx).await?;
    tx.commit().await.map_err(crate::error::StoreError::from)?;
    if !lots.is_empty() {
        tracing::info!(lots = lots.len(), "credit expired");
        metrics::counter!("quittance_lots_expired_total").increment(lots.len() as u64);
    }
    Ok(lots.len())
}

/// A lot past its date that still holds something.
#[derive(Clone, Debug)]
pub struct ExpiredLot {
    /// Tenant.
    pub tenant: TenantId,
    /// Wallet it funds.
    pub wallet: WalletId,
    /// The lot.
    pub lot: LotId,
    /// What remains.
    pub remaining: Amount,
    /// When it expired.
    pub expired_at: DateTime<Utc>,
    /// Version of the expiry settlement to write.
    pub version: i32,
}

fn posting(lot: &ExpiredLot, at: DateTime<Utc>) -> Posting {
    let key = SettlementKey {
        tenant: lot.tenant,
        subject: Subject::Lot(lot.lot),
        phase: Phase::Expiry,
        version: lot.version,
    };
    let effect = Effect {
        phase: Phase::Expiry,
        version: lot.version,
        amount: lot.remaining,
        entries: vec![Entry {
            entry_type: EntryType::Breakage,
            amount: lot.remaining,
        }],
        snapshot: json!({ "expired_at": lot.expired_at.to_rfc3339(), "found_at": at.to_rfc3339() }),
    };
    Posting {
        key,
        wallet: lot.wallet,
        effect,
        event: None,
    }
}
