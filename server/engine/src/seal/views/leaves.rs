//! Rows as leaves.

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{AccountId, SettlementId, TenantId, WalletId},
    seal::{self, Leaf, Moved, Settled},
};
use futures::{Stream, StreamExt};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// A leaf, and where it belongs.
#[derive(Clone, Debug)]
pub(in crate::seal) struct Sealed {
    /// Tenant of its settlement.
    pub(in crate::seal) tenant: Uuid,
    /// Order of posting of its transfer.
    pub(in crate::seal) posting: Option<i64>,
    /// The seal it was written down for, when it has no transfer.
    pub(in crate::seal) seal: Option<i64>,
    /// What is hashed.
    pub(in crate::seal) leaf: Leaf,
}

impl Sealed {
    pub(in crate::seal) fn hash(&self) -> Result<Hash, StoreError> {
        (self.leaf.hash()).map_err(|error| StoreError::inconsistent("settlements", "(row)", error))
    }
}

/// A settlement, and of its transfer what there is.
struct Row {
    seal_number: Option<i64>,
    tenant_id: Uuid,
    settlement_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    phase: String,
    version: i32,
    wallet_id: Uuid,
    livemode: bool,
    settled: Decimal,
    settled_currency: String,
    content_hash: Vec<u8>,
    event_id: Option<i64>,
    settled_at: DateTime<Utc>,
    posting_id: Option<i64>,
    entry_type: Option<String>,
    debit_account_id: Option<Uuid>,
    credit_account_id: Option<Uuid>,
    currency: Option<String>,
    amount: Option<Decimal>,
    debit_balance: Option<Decimal>,
    credit_balance: Option<Decimal>,
    posted_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for Sealed {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let content_hash = Hash::try_from(row.content_hash).map_err(|bytes| {
            StoreError::inconsistent("settlements", "content_hash", hex::encode(bytes))
        })?;
        // As text: a word or number that the domain does not know is hashed like any other.
        let key = format!(
            "{}/{}_{}/{}/{}",
            TenantId(row.tenant_id),
            row.subject_kind,
            row.subject_id.simple(),
            row.phase,
            row.version
        );
        let settlement = Settled {
            id: SettlementId(row.settlement_id),
            key,
            wallet: WalletId(row.wallet_id),
            livemode: row.livemode,
            amount: plain(row.settled),
            currency: row.settled_currency,
            content_hash,
            event: seal::event(row.event_id),
            settled_at: row.settled_at,
        };
        let missing = || StoreError::inconsistent("transfers", "(row)", "a column is empty");
        let moved = |posting: i64| {
            Ok::<_, StoreError>(Moved {
                posting: posting.to_string(),
                entry_type: row.entry_type.ok_or_else(missing)?,
                debit: AccountId(row.debit_account_id.ok_or_else(missing)?),
                credit: AccountId(row.credit_account_id.ok_or_else(missing)?),
                currency: row.currency.ok_or_else(missing)?,
                amount: plain(row.amount.ok_or_else(missing)?),
                debit_balance: row.debit_balance.map(plain),
                credit_balance: row.credit_balance.map(plain),
                posted_at: row.posted_at.ok_or_else(missing)?,
            })
        };
        let transfer = row.posting_id.map(moved).transpose()?;
        Ok(Self {
            tenant: row.tenant_id,
            posting: row.posting_id,
            seal: row.seal_number,
            leaf: Leaf {
                settlement,
                transfer,
            },
        })
    }
}

fn plain(number: Decimal) -> String {
    number.normalize().to_string()
}

/// Transfers above one posting and up to another, in posting order.
pub(in crate::seal) fn transfers(
    conn: &mut PgConnection,
    from: i64,
    to: i64,
) -> impl Stream<Item = Result<Sealed, StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        Row,
        r#"SELECT NULL::bigint AS seal_number, tenant_id, settlement_id, s.subject_kind, s.subject_id, s.phase, s.version,
                  s.wallet_id, s.livemode, s.amount AS settled, s.currency AS settled_currency, s.content_hash, s.event_id,
                  s.settled_at, t.posting_id AS "posting_id?", t.entry_type AS "entry_type?",
                  t.debit_account_id AS "debit_account_id?", t.credit_account_id AS "credit_account_id?",
                  t.currency AS "currency?", t.amount AS "amount?", t.debit_balance, t.credit_balance,
                  t.posted_at AS "posted_at?"
           FROM transfers t JOIN settlements s USING (tenant_id, settlement_id)
           WHERE t.posting_id > $1 AND t.posting_id <= $2 ORDER BY t.posting_id"#,
        from,
        to,
    )
    .fetch(conn)
    .map(|row| row?.try_into())
}

/// Settlements without transfers that are not sealed, of those written since a transaction.
pub(in crate::seal) fn unmoved(
    conn: &mut PgConnection,
    since: i64,
    most: i64,
) -> impl Stream<Item = Result<Sealed, StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        Row,
        r#"SELECT NULL::bigint AS seal_number, tenant_id, settlement_id, s.subject_kind, s.subject_id, s.phase, s.version,
                  s.wallet_id, s.livemode, s.amount AS settled, s.currency AS settled_currency, s.content_hash, s.event_id,
                  s.settled_at, NULL::bigint AS posting_id, NULL::text AS entry_type, NULL::uuid AS debit_account_id,
                  NULL::uuid AS credit_account_id, NULL::text AS currency, NULL::numeric AS amount,
                  NULL::numeric AS debit_balance, NULL::numeric AS credit_balance, NULL::timestamptz AS posted_at
           FROM settlements s
           WHERE s.amount = 0 AND s.written_in >= $1
             AND NOT EXISTS (SELECT FROM transfers t
                             WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id)
             AND NOT EXISTS (SELECT FROM sealed_unmoved u
                             WHERE u.tenant_id = s.tenant_id AND u.settlement_id = s.settlement_id)
           ORDER BY settlement_id, tenant_id LIMIT $2"#,
        since,
        most,
    )
    .fetch(conn)
    .map(|row| row?.try_into())
}

/// Settlements without transfers of some seals, from the first to the last of them.
pub(in crate::seal) fn unmoved_of(
    conn: &mut PgConnection,
    first: i64,
    last: i64,
) -> impl Stream<Item = Result<Sealed, StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        Row,
        r#"SELECT u.seal_number AS "seal_number?", tenant_id, settlement_id, s.subject_kind, s.subject_id, s.phase, s.version,
                  s.wallet_id, s.livemode, s.amount AS settled, s.currency AS settled_currency, s.content_hash, s.event_id,
                  s.settled_at, NULL::bigint AS posting_id, NULL::text AS entry_type, NULL::uuid AS debit_account_id,
                  NULL::uuid AS credit_account_id, NULL::text AS currency, NULL::numeric AS amount,
                  NULL::numeric AS debit_balance, NULL::numeric AS credit_balance, NULL::timestamptz AS posted_at
           FROM sealed_unmoved u JOIN settlements s USING (tenant_id, settlement_id)
           WHERE u.seal_number BETWEEN $1 AND $2 ORDER BY u.seal_number, settlement_id, tenant_id"#,
        first,
        last,
    )
    .fetch(conn)
    .map(|row| row?.try_into())
}
