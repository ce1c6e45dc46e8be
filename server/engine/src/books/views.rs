//! SQL of verifying: what is examined, what was hashed, and the checks.

mod checks;

use domain::{
    canonical::Hash,
    id::{JobId, LotId, TenantId},
    money::Amount,
    settlement::{Effect, Entry, SettlementKey, Subject},
};
use futures::{Stream, StreamExt};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

pub(super) use self::checks::{run_checks, stuck_events};
use super::Examined;
use crate::error::StoreError;

pub(super) async fn examined(conn: &mut PgConnection) -> Result<Examined, StoreError> {
    let examined = sqlx::query_as!(
        Examined,
        r#"SELECT (SELECT count(*) FROM jobs) AS "jobs!", (SELECT count(*) FROM settlements) AS "settlements!",
                  (SELECT count(*) FROM transfers) AS "transfers!", (SELECT count(*) FROM accounts) AS "accounts!",
                  (SELECT count(*) FROM lots) AS "lots!""#
    )
    .fetch_one(conn)
    .await?;
    Ok(examined)
}

struct ContentRow {
    tenant_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    phase: String,
    version: i32,
    currency: String,
    amount: Decimal,
    snapshot: serde_json::Value,
    content_hash: Vec<u8>,
    entry_types: Option<Vec<String>>,
    amounts: Option<Vec<Decimal>>,
}

/// Every settlement as it was hashed, with its recorded hash.
pub(super) fn contents(
    conn: &mut PgConnection,
) -> impl Stream<Item = Result<(SettlementKey, Effect, Hash), StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        ContentRow,
        r#"SELECT s.tenant_id, s.subject_kind, s.subject_id, s.phase, s.version, s.currency, s.amount, s.snapshot,
                  s.content_hash, t.entry_types, t.amounts AS "amounts: Vec<Decimal>"
           FROM settlements s CROSS JOIN LATERAL (
               SELECT array_agg(entry_type ORDER BY posting_id) AS entry_types, array_agg(amount ORDER BY posting_id) AS amounts
               FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id) t"#
    )
    .fetch(conn)
    .map(|row| content(row?))
}

fn content(row: ContentRow) -> Result<(SettlementKey, Effect, Hash), StoreError> {
    let currency = row
        .currency
        .parse()
        .map_err(|error| StoreError::inconsistent("settlements", "currency", error))?;
    let amount = |value| {
        Amount::exact(value, currency)
            .map_err(|error| StoreError::inconsistent("transfers", "amount", error))
    };
    let subject = match row.subject_kind.as_str() {
        "lot" => Subject::Lot(LotId(row.subject_id)),
        _ => Subject::Job(JobId(row.subject_id)),
    };
    let phase = row
        .phase
        .parse()
        .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?;
    let key = SettlementKey {
        tenant: TenantId(row.tenant_id),
        subject,
        phase,
        version: row.version,
    };
    let types = row.entry_types.unwrap_or_default();
    let amounts = row.amounts.unwrap_or_default();
    let entries = types.iter().zip(amounts).map(|(word, value)| {
        let entry_type = word
            .parse()
            .map_err(|error| StoreError::inconsistent("transfers", "entry_type", error))?;
        Ok(Entry {
            entry_type,
            amount: amount(value)?,
        })
    });
    let effect = Effect {
        phase,
        version: row.version,
        amount: amount(row.amount)?,
        entries: entries.collect::<Result<_, StoreError>>()?,
        snapshot: row.snapshot,
    };
    let hash = Hash::try_from(row.content_hash).map_err(|bytes| {
        StoreError::inconsistent("settlements", "content_hash", hex::encode(bytes))
    })?;
    Ok((key, effect, hash))
}
