//! The ledger of a whole wallet: what moved either of its accounts, with both running balances.

use chrono::{DateTime, Utc};
use domain::{
    id::{JobId, LotId, SettlementId},
    money::Amount,
    settlement::{AccountKind, EntryType, Phase, SettlementKey, Subject},
};
use rust_decimal::Decimal;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{Wallet, money};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Which entries of a wallet are listed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Role of the transfer.
    pub entry_type: Option<EntryType>,
    /// Posted at or after.
    pub since: Option<DateTime<Utc>>,
    /// Posted before.
    pub until: Option<DateTime<Utc>>,
}

/// One transfer as a wallet sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Order of posting.
    pub posting: i64,
    /// Its settlement.
    pub settlement: SettlementId,
    /// The settlement's identity.
    pub key: SettlementKey,
    /// Its role.
    pub entry_type: EntryType,
    /// Account kind debited.
    pub debit: AccountKind,
    /// Account kind credited.
    pub credit: AccountKind,
    /// What moved, always positive.
    pub amount: Amount,
    /// Available after it, when it moved that account.
    pub available_after: Option<Amount>,
    /// Held after it, when it moved that account.
    pub held_after: Option<Amount>,
    /// When it was written.
    pub posted_at: DateTime<Utc>,
}

#[derive(sqlx::FromRow)]
struct Stored {
    posting_id: i64,
    settlement_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    phase: String,
    version: i32,
    entry_type: String,
    debit: String,
    credit: String,
    amount: Decimal,
    debit_balance: Option<Decimal>,
    credit_balance: Option<Decimal>,
    posted_at: DateTime<Utc>,
}

/// A page of a wallet's ledger, newest first.
///
/// A transfer within the wallet moves both of its accounts and is one entry. Each of the four ways in
/// (two accounts, two sides) is an index of its own that is already in order, so a page reads at most
/// four pages' worth of transfers, and the settlements of one.
///
/// # Errors
/// [`StoreError`].
pub async fn entries(
    conn: &mut PgConnection,
    wallet: &Wallet,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Entry>, StoreError> {
    // The kinds are looked up for the rows of the page alone, each by its whole key: joined, they invite a
    // plan that reads every account of the tenant for each row.
    let mut query = QueryBuilder::<Postgres>::new(
        "SELECT x.posting_id, x.settlement_id, s.subject_kind, s.subject_id, s.phase, s.version, x.entry_type,
                (SELECT kind FROM accounts a WHERE a.tenant_id = x.tenant_id AND a.account_id = x.debit_account_id) AS debit,
                (SELECT kind FROM accounts a WHERE a.tenant_id = x.tenant_id AND a.account_id = x.credit_account_id) AS credit,
                x.amount, x.debit_balance, x.credit_balance, x.posted_at
         FROM (SELECT * FROM (",
    );
    let sides = [
        ("debit_account_id", wallet.available),
        ("credit_account_id", wallet.available),
        ("debit_account_id", wallet.held),
        ("credit_account_id", wallet.held),
    ];
    for (at, (column, account)) in sides.into_iter().enumerate() {
        query.push(if at == 0 { "(" } else { " UNION (" });
        query
            .push("SELECT * FROM transfers WHERE tenant_id = ")
            .push_bind(wallet.line.tenant.0);
        query
            .push(" AND ")
            .push(column)
            .push(" = ")
            .push_bind(account.0);
        restrict(&mut query, filter);
        cursor.end(&mut query, "posting_id");
        query.push(")");
    }
    query.push(") sides WHERE true");
    cursor.end(&mut query, "posting_id");
    query.push(") x JOIN settlements s USING (tenant_id, settlement_id) WHERE true");
    cursor.end(&mut query, "x.posting_id");
    let stored: Vec<Stored> = query.build_query_as().fetch_all(conn).await?;
    let rows: Result<Vec<_>, _> = stored
        .into_iter()
        .map(|row| Entry::read(row, wallet))
        .collect();
    Ok(Page::read(rows?, &cursor))
}

fn restrict(query: &mut QueryBuilder<Postgres>, filter: &Filter) {
    if let Some(entry_type) = filter.entry_type {
        query
            .push(" AND entry_type = ")
            .push_bind(entry_type.as_str());
    }
    if let Some(since) = filter.since {
        query.push(" AND posted_at >= ").push_bind(since);
    }
    if let Some(until) = filter.until {
        query.push(" AND posted_at < ").push_bind(until);
    }
}

fn word<T>(table: &'static str, column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent(table, column, error))
}

impl Entry {
    fn read(row: Stored, wallet: &Wallet) -> Result<Self, StoreError> {
        let currency = wallet.line.available.currency();
        let (debit, credit) = (
            word("accounts", "kind", &row.debit)?,
            word("accounts", "kind", &row.credit)?,
        );
        let after = |kind: AccountKind| {
            let value = match kind {
                _ if kind == debit => row.debit_balance,
                _ if kind == credit => row.credit_balance,
                _ => return Ok(None),
            };
            value.map(|value| money(value, currency)).transpose()
        };
        let subject = match row.subject_kind.as_str() {
            "job" => Subject::Job(JobId(row.subject_id)),
            "lot" => Subject::Lot(LotId(row.subject_id)),
            other => {
                return Err(StoreError::inconsistent(
                    "settlements",
                    "subject_kind",
                    other.to_owned(),
                ));
            }
        };
        let phase: Phase = word("settlements", "phase", &row.phase)?;
        Ok(Self {
            posting: row.posting_id,
            settlement: SettlementId(row.settlement_id),
            key: SettlementKey {
                tenant: wallet.line.tenant,
                subject,
                phase,
                version: row.version,
            },
            entry_type: word("transfers", "entry_type", &row.entry_type)?,
            debit,
            credit,
            amount: money(row.amount, currency)?,
            available_after: after(AccountKind::Available)?,
            held_after: after(AccountKind::Held)?,
            posted_at: row.posted_at,
        })
    }
}
