//! What the console shows of the ledger: wallets, their lots, and the ledger of one account.

mod books;
mod entries;

use chrono::{DateTime, Utc};
use domain::{
    id::{AccountId, EventId, JobId, LotId, SettlementId, TenantId, WalletId},
    money::{Amount, Currency},
    settlement::{AccountKind, EntryType, Phase, SettlementKey, Subject},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;

pub use self::{
    books::{TrialBalance, trial_balance},
    entries::{Entry, Filter, entries},
};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Lots shown of one wallet.
const MOST_LOTS: i64 = 200;

/// A wallet in the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WalletLine {
    /// Owner.
    pub tenant: TenantId,
    /// Name of the owner.
    pub tenant_name: String,
    /// Id.
    pub wallet: WalletId,
    /// Name.
    pub name: String,
    /// True for real money.
    pub livemode: bool,
    /// Balance of the available account.
    pub available: Amount,
    /// Set aside for jobs.
    pub held: Amount,
    /// Since when spending is stopped.
    pub frozen_at: Option<DateTime<Utc>>,
    /// When a transfer last changed it.
    pub changed_at: DateTime<Utc>,
}

/// A lot of a wallet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LotLine {
    /// Id.
    pub lot: LotId,
    /// What was granted.
    pub amount: Amount,
    /// What is neither spent, held nor expired.
    pub remaining: Amount,
    /// Where it came from.
    pub note: String,
    /// When it was granted.
    pub granted_at: DateTime<Utc>,
    /// When what remains expires.
    pub expires_at: Option<DateTime<Utc>>,
}

/// One line of an account's ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LedgerLine {
    /// Order of posting; the key of pages.
    pub posting_id: i64,
    /// When it was written.
    pub posted_at: DateTime<Utc>,
    /// The settlement it belongs to.
    pub settlement: SettlementId,
    /// Key of that settlement.
    pub key: SettlementKey,
    /// Its role there.
    pub entry_type: EntryType,
    /// Account on the other side.
    pub other: AccountKind,
    /// What entered the account; negative for what left it.
    pub change: Amount,
    /// Balance after it.
    pub balance: Amount,
    /// The event that caused it.
    pub event: Option<EventId>,
}

fn money(value: Decimal, currency: Currency) -> Result<Amount, StoreError> {
    Amount::exact(value, currency)
        .map_err(|error| StoreError::inconsistent("balances", "balance", error))
}

fn currency(code: &str) -> Result<Currency, StoreError> {
    code.parse()
        .map_err(|error| StoreError::inconsistent("wallets", "currency", error))
}

/// A page of wallets, newest tenants first; of one tenant when it is given.
///
/// # Errors
/// [`StoreError`].
pub async fn wallets(
    conn: &mut PgConnection,
    tenant: Option<TenantId>,
    livemode: Option<bool>,
    cursor: Cursor<(TenantId, WalletId)>,
) -> Result<Page<WalletLine>, StoreError> {
    let top = uuid::Uuid::max();
    let (upwards, start) = cursor.start((TenantId(top), WalletId(top)));
    let rows = sqlx::query!(
        r#"WITH page AS (
               (SELECT tenant_id, wallet_id FROM wallets
                WHERE NOT $1::bool AND (tenant_id, wallet_id) < ($2, $3)
                  AND ($4::uuid IS NULL OR tenant_id = $4) AND ($5::bool IS NULL OR livemode = $5)
                ORDER BY tenant_id DESC, wallet_id DESC LIMIT $6)
               UNION ALL
               (SELECT tenant_id, wallet_id FROM wallets
                WHERE $1::bool AND (tenant_id, wallet_id) > ($2, $3)
                  AND ($4::uuid IS NULL OR tenant_id = $4) AND ($5::bool IS NULL OR livemode = $5)
                ORDER BY tenant_id, wallet_id LIMIT $6))
           SELECT w.tenant_id, t.name AS tenant_name, w.wallet_id, w.name, w.currency, w.livemode, w.frozen_at,
                  a.balance AS available, h.balance AS held, greatest(a.updated_at, h.updated_at) AS "changed_at!"
           FROM page JOIN wallets w USING (tenant_id, wallet_id) JOIN tenants t USING (tenant_id)
           JOIN accounts aa ON aa.tenant_id = w.tenant_id AND aa.wallet_id = w.wallet_id AND aa.kind = 'available'
           JOIN balances a ON a.tenant_id = aa.tenant_id AND a.account_id = aa.account_id
           JOIN accounts ha ON ha.tenant_id = w.tenant_id AND ha.wallet_id = w.wallet_id AND ha.kind = 'held'
           JOIN balances h ON h.tenant_id = ha.tenant_id AND h.account_id = ha.account_id
           ORDER BY w.tenant_id DESC, w.wallet_id DESC"#,
        upwards,
        start.0.0,
        start.1.0,
        tenant.map(|tenant| tenant.0),
        livemode,
        Page::<WalletLine>::ASK,
    )
    .fetch_all(conn)
    .await?;
    let lines = rows
        .into_iter()
        .map(|row| {
            let currency = currency(&row.currency)?;
            Ok(WalletLine {
                tenant: TenantId(row.tenant_id),
                tenant_name: row.tenant_name,
                wallet: WalletId(row.wallet_id),
                name: row.name,
                livemode: row.livemode,
                available: money(row.available, currency)?,
                held: money(row.held, currency)?,
                frozen_at: row.frozen_at,
                changed_at: row.changed_at,
            })
        })
        .collect::<Result<_, StoreError>>()?;
    Ok(Page::new(lines, &cursor))
}

/// One wallet, with its accounts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wallet {
    /// As in lists.
    pub line: WalletLine,
    /// Why spending is stopped.
    pub frozen_reason: Option<String>,
    /// Since when its tenant is frozen.
    pub tenant_frozen_at: Option<DateTime<Utc>>,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
    available: AccountId,
    held: AccountId,
}

/// One wallet, if it exists.
///
/// # Errors
/// [`StoreError`].
pub async fn wallet(conn: &mut PgConnection, id: WalletId) -> Result<Option<Wallet>, StoreError> {
    let row = sqlx::query!(
        r#"SELECT w.tenant_id, t.name AS tenant_name, w.name, w.currency, w.livemode, w.frozen_at, w.frozen_reason, w.created_at,
                  f.frozen_at AS "tenant_frozen_at?",
                  aa.account_id AS available_account, a.balance AS available, ha.account_id AS held_account, h.balance AS held,
                  greatest(a.updated_at, h.updated_at) AS "changed_at!"
           FROM wallets w JOIN tenants t USING (tenant_id)
           LEFT JOIN freezes f ON f.tenant_id = w.tenant_id AND f.lifted_at IS NULL
           JOIN accounts aa ON aa.tenant_id = w.tenant_id AND aa.wallet_id = w.wallet_id AND aa.kind = 'available'
           JOIN balances a ON a.tenant_id = aa.tenant_id AND a.account_id = aa.account_id
           JOIN accounts ha ON ha.tenant_id = w.tenant_id AND ha.wallet_id = w.wallet_id AND ha.kind = 'held'
           JOIN balances h ON h.tenant_id = ha.tenant_id AND h.account_id = ha.account_id
           WHERE w.wallet_id = $1"#,
        id.0,
    )
    .fetch_optional(conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let currency = currency(&row.currency)?;
    let line = WalletLine {
        tenant: TenantId(row.tenant_id),
        tenant_name: row.tenant_name,
        wallet: id,
        name: row.name,
        livemode: row.livemode,
        available: money(row.available, currency)?,
        held: money(row.held, currency)?,
        frozen_at: row.frozen_at,
        changed_at: row.changed_at,
    };
    Ok(Some(Wallet {
        line,
        frozen_reason: row.frozen_reason,
        tenant_frozen_at: row.tenant_frozen_at,
        created_at: row.created_at,
        available: AccountId(row.available_account),
        held: AccountId(row.held_account),
    }))
}

/// Lots of a wallet: those with something left first, soonest expiry first.
///
/// # Errors
/// [`StoreError`].
pub async fn lots(
    conn: &mut PgConnection,
    (tenant, wallet): (TenantId, WalletId),
) -> Result<Vec<LotLine>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT lot_id, currency, amount, remaining, note, granted_at, expires_at FROM lots
           WHERE tenant_id = $1 AND wallet_id = $2
           ORDER BY remaining = 0, expires_at, lot_id LIMIT $3"#,
        tenant.0,
        wallet.0,
        MOST_LOTS,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            let currency = currency(&row.currency)?;
            Ok(LotLine {
                lot: LotId(row.lot_id),
                amount: money(row.amount, currency)?,
                remaining: money(row.remaining, currency)?,
                note: row.note,
                granted_at: row.granted_at,
                expires_at: row.expires_at,
            })
        })
        .collect()
}

/// A page of the ledger of a wallet's available or held account, newest first, with the running balance.
/// Platform kinds have no running balance and give an empty page.
///
/// # Errors
/// [`StoreError`].
pub async fn wallet_ledger(
    conn: &mut PgConnection,
    (tenant, wallet): (TenantId, WalletId),
    kind: AccountKind,
    cursor: Cursor<i64>,
) -> Result<Page<LedgerLine>, StoreError> {
    let (upwards, start) = cursor.start(i64::MAX);
    // Each branch walks one index from the key; at most two of the four run.
    let rows = sqlx::query_as!(
        LedgerRow,
        r#"WITH account AS MATERIALIZED (
               SELECT account_id FROM accounts WHERE tenant_id = $1 AND wallet_id = $2 AND kind = $3),
           page AS (
               (SELECT t.* FROM account CROSS JOIN LATERAL (
                    SELECT * FROM transfers WHERE tenant_id = $1 AND debit_account_id = account.account_id
                      AND NOT $4::bool AND posting_id < $5 ORDER BY posting_id DESC LIMIT $6) t)
               UNION ALL
               (SELECT t.* FROM account CROSS JOIN LATERAL (
                    SELECT * FROM transfers WHERE tenant_id = $1 AND credit_account_id = account.account_id
                      AND NOT $4::bool AND posting_id < $5 ORDER BY posting_id DESC LIMIT $6) t)
               UNION ALL
               (SELECT t.* FROM account CROSS JOIN LATERAL (
                    SELECT * FROM transfers WHERE tenant_id = $1 AND debit_account_id = account.account_id
                      AND $4::bool AND posting_id > $5 ORDER BY posting_id LIMIT $6) t)
               UNION ALL
               (SELECT t.* FROM account CROSS JOIN LATERAL (
                    SELECT * FROM transfers WHERE tenant_id = $1 AND credit_account_id = account.account_id
                      AND $4::bool AND posting_id > $5 ORDER BY posting_id LIMIT $6) t)),
           nearest AS (
               SELECT * FROM page
               ORDER BY CASE WHEN $4::bool THEN posting_id ELSE -posting_id END LIMIT $6)
           SELECT n.posting_id AS "posting_id!", n.posted_at AS "posted_at!", n.settlement_id AS "settlement_id!",
                  n.entry_type AS "entry_type!", n.currency AS "currency!", o.kind AS "other!",
                  CASE WHEN n.debit_account_id = a.account_id THEN -n.amount ELSE n.amount END AS "change!",
                  CASE WHEN n.debit_account_id = a.account_id THEN n.debit_balance ELSE n.credit_balance END AS "balance!",
                  s.subject_kind AS "subject_kind!", s.subject_id AS "subject_id!", s.phase AS "phase!",
                  s.version AS "version!", s.event_id
           FROM nearest n CROSS JOIN account a
           JOIN settlements s ON s.tenant_id = $1 AND s.settlement_id = n.settlement_id
           JOIN accounts o ON o.tenant_id = $1 AND o.account_id =
               CASE WHEN n.debit_account_id = a.account_id THEN n.credit_account_id ELSE n.debit_account_id END
           ORDER BY n.posting_id DESC"#,
        tenant.0,
        wallet.0,
        kind.as_str(),
        upwards,
        start,
        Page::<LedgerLine>::ASK,
    )
    .fetch_all(conn)
    .await?;
    let lines = rows
        .into_iter()
        .map(|row| row.line(tenant))
        .collect::<Result<_, _>>()?;
    Ok(Page::new(lines, &cursor))
}

/// A row of [`wallet_ledger`].
struct LedgerRow {
    posting_id: i64,
    posted_at: DateTime<Utc>,
    settlement_id: uuid::Uuid,
    entry_type: String,
    currency: String,
    other: String,
    change: Decimal,
    balance: Decimal,
    subject_kind: String,
    subject_id: uuid::Uuid,
    phase: String,
    version: i32,
    event_id: Option<i64>,
}

impl LedgerRow {
    fn line(self, tenant: TenantId) -> Result<LedgerLine, StoreError> {
        let currency = currency(&self.currency)?;
        let subject = match self.subject_kind.as_str() {
            "lot" => Subject::Lot(LotId(self.subject_id)),
            _ => Subject::Job(JobId(self.subject_id)),
        };
        let phase: Phase = self
            .phase
            .parse()
            .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?;
        Ok(LedgerLine {
            posting_id: self.posting_id,
            posted_at: self.posted_at,
            settlement: SettlementId(self.settlement_id),
            key: SettlementKey {
                tenant,
                subject,
                phase,
                version: self.version,
            },
            entry_type: self
                .entry_type
                .parse()
                .map_err(|error| StoreError::inconsistent("transfers", "entry_type", error))?,
            other: self
                .other
                .parse()
                .map_err(|error| StoreError::inconsistent("accounts", "kind", error))?,
            change: money(self.change, currency)?,
            balance: money(self.balance, currency)?,
            event: self.event_id.map(EventId),
        })
    }
}
