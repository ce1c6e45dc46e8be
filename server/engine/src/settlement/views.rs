//! What the console shows of settlements.

mod proof;

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::{
    canonical::Hash,
    id::{AccountId, EventId, JobId, LotId, SettlementId, TenantId, WalletId},
    money::{Amount, Currency},
    settlement::{AccountKind, EntryType, Phase, SettlementKey, Subject},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

pub use self::proof::{EventLine, JobFacts, JobProof, Step, job_proof};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// A settlement in a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettlementLine {
    /// Its id, for links.
    pub id: SettlementId,
    /// Its key.
    pub key: SettlementKey,
    /// Name of the tenant.
    pub tenant_name: String,
    /// Wallet whose money moved.
    pub wallet: WalletId,
    /// Name of the wallet.
    pub wallet_name: String,
    /// What the phase amounts to.
    pub amount: Amount,
    /// True for real money.
    pub livemode: bool,
    /// The event that caused it.
    pub event: Option<EventId>,
    /// When it was written.
    pub settled_at: DateTime<Utc>,
}

/// A settlement with everything that proves it.
#[derive(Clone, PartialEq, Debug)]
pub struct SettlementView {
    /// As in lists.
    pub line: SettlementLine,
    /// Usage, prices and arithmetic it was decided from.
    pub snapshot: serde_json::Value,
    /// Hash a retry must match.
    pub content_hash: Hash,
    /// Its transfers, in posting order.
    pub transfers: Vec<TransferView>,
    /// Lots it drew from or gave back to.
    pub draws: Vec<DrawView>,
}

/// A transfer with the balances around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransferView {
    /// Its role.
    pub entry_type: EntryType,
    /// Order of posting.
    pub posting_id: i64,
    /// Account the amount left.
    pub debit: SideView,
    /// Account it entered.
    pub credit: SideView,
    /// Always positive.
    pub amount: Amount,
}

/// One side of a transfer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideView {
    /// The account.
    pub account: AccountId,
    /// What its money is for.
    pub kind: AccountKind,
    /// Balance before and after, for wallet accounts.
    pub balance: Option<(Amount, Amount)>,
}

/// A lot that was drawn from or given back to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DrawView {
    /// The lot.
    pub lot: LotId,
    /// When what remains of it expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// How much; negative when it was given back.
    pub drawn: Amount,
}

/// Which settlements to list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Of this phase.
    pub phase: Option<Phase>,
    /// Of this wallet.
    pub wallet: Option<WalletId>,
    /// Of this mode.
    pub livemode: Option<bool>,
}

struct LineRow {
    tenant_id: Uuid,
    settlement_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    phase: String,
    version: i32,
    wallet_id: Uuid,
    currency: String,
    livemode: bool,
    amount: Decimal,
    event_id: Option<i64>,
    settled_at: DateTime<Utc>,
    tenant_name: String,
    wallet_name: String,
}

impl TryFrom<LineRow> for SettlementLine {
    type Error = StoreError;

    fn try_from(row: LineRow) -> Result<Self, StoreError> {
        let subject = match row.subject_kind.as_str() {
            "lot" => Subject::Lot(LotId(row.subject_id)),
            _ => Subject::Job(JobId(row.subject_id)),
        };
        let phase = row
            .phase
            .parse()
            .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?;
        Ok(Self {
            id: SettlementId(row.settlement_id),
            key: SettlementKey {
                tenant: TenantId(row.tenant_id),
                subject,
                phase,
                version: row.version,
            },
            tenant_name: row.tenant_name,
            wallet: WalletId(row.wallet_id),
            wallet_name: row.wallet_name,
            amount: amount(row.amount, currency(&row.currency)?)?,
            livemode: row.livemode,
            event: row.event_id.map(EventId),
            settled_at: row.settled_at,
        })
    }
}

pub(super) fn currency(code: &str) -> Result<Currency, StoreError> {
    code.parse()
        .map_err(|error| StoreError::inconsistent("settlements", "currency", error))
}

pub(super) fn amount(value: Decimal, currency: Currency) -> Result<Amount, StoreError> {
    Amount::exact(value, currency)
        .map_err(|error| StoreError::inconsistent("settlements", "amount", error))
}

/// A page of settlements, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: Filter,
    cursor: Cursor<SettlementId>,
) -> Result<Page<SettlementLine>, StoreError> {
    let (upwards, start) = cursor.start(SettlementId(Uuid::max()));
    let rows = sqlx::query_as!(
        LineRow,
        r#"WITH page AS (
               (SELECT tenant_id, settlement_id FROM settlements
                WHERE NOT $1::bool AND settlement_id < $2 AND ($3::text IS NULL OR phase = $3)
                  AND ($4::uuid IS NULL OR wallet_id = $4) AND ($5::bool IS NULL OR livemode = $5)
                ORDER BY settlement_id DESC LIMIT $6)
               UNION ALL
               (SELECT tenant_id, settlement_id FROM settlements
                WHERE $1::bool AND settlement_id > $2 AND ($3::text IS NULL OR phase = $3)
                  AND ($4::uuid IS NULL OR wallet_id = $4) AND ($5::bool IS NULL OR livemode = $5)
                ORDER BY settlement_id LIMIT $6))
           SELECT s.tenant_id, s.settlement_id, s.subject_kind, s.subject_id, s.phase, s.version, s.wallet_id, s.currency,
                  s.livemode, s.amount, s.event_id, s.settled_at, t.name AS tenant_name, w.name AS wallet_name
           FROM page JOIN settlements s USING (tenant_id, settlement_id) JOIN tenants t USING (tenant_id)
           JOIN wallets w ON w.tenant_id = s.tenant_id AND w.wallet_id = s.wallet_id
           ORDER BY s.settlement_id DESC"#,
        upwards,
        start.0,
        filter.phase.map(Phase::as_str),
        filter.wallet.map(|wallet| wallet.0),
        filter.livemode,
        Page::<SettlementLine>::ASK,
    )
    .fetch_all(conn)
    .await?;
    let lines = rows
        .into_iter()
        .map(SettlementLine::try_from)
        .collect::<Result<_, _>>()?;
    Ok(Page::new(lines, &cursor))
}

/// One settlement, by its id alone (ids are unique over tenants).
///
/// # Errors
/// [`StoreError`].
pub async fn find(
    conn: &mut PgConnection,
    id: SettlementId,
) -> Result<Option<SettlementView>, StoreError> {
    let rows = sqlx::query_as!(
        LineRow,
        r#"SELECT s.tenant_id, s.settlement_id, s.subject_kind, s.subject_id, s.phase, s.version, s.wallet_id, s.currency,
                  s.livemode, s.amount, s.event_id, s.settled_at, t.name AS tenant_name, w.name AS wallet_name
           FROM settlements s JOIN tenants t USING (tenant_id)
           JOIN wallets w ON w.tenant_id = s.tenant_id AND w.wallet_id = s.wallet_id
           WHERE s.settlement_id = $1"#,
        id.0,
    )
    .fetch_all(&mut *conn)
    .await?;
    let lines = rows
        .into_iter()
        .map(SettlementLine::try_from)
        .collect::<Result<_, _>>()?;
    Ok(complete(conn, lines).await?.pop())
}

/// All settlements of a job, in the order they were written.
///
/// # Errors
/// [`StoreError`].
pub async fn of_job(
    conn: &mut PgConnection,
    (tenant, job): (TenantId, JobId),
) -> Result<Vec<SettlementView>, StoreError> {
    let rows = sqlx::query_as!(
        LineRow,
        r#"SELECT s.tenant_id, s.settlement_id, s.subject_kind, s.subject_id, s.phase, s.version, s.wallet_id, s.currency,
                  s.livemode, s.amount, s.event_id, s.settled_at, t.name AS tenant_name, w.name AS wallet_name
           FROM settlements s JOIN tenants t USING (tenant_id)
           JOIN wallets w ON w.tenant_id = s.tenant_id AND w.wallet_id = s.wallet_id
           WHERE s.tenant_id = $1 AND s.subject_kind = 'job' AND s.subject_id = $2
           ORDER BY s.settlement_id"#,
        tenant.0,
        job.0,
    )
    .fetch_all(&mut *conn)
    .await?;
    let lines = rows
        .into_iter()
        .map(SettlementLine::try_from)
        .collect::<Result<_, _>>()?;
    complete(conn, lines).await
}

/// Adds snapshots, transfers and draws.
async fn complete(
    conn: &mut PgConnection,
    lines: Vec<SettlementLine>,
) -> Result<Vec<SettlementView>, StoreError> {
    let (tenants, ids): (Vec<_>, Vec<_>) = lines
        .iter()
        .map(|line| (line.key.tenant.0, line.id.0))
        .unzip();
    let contents = sqlx::query!(
        r#"SELECT s.settlement_id, s.snapshot, s.content_hash
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, settlement_id)
           JOIN settlements s USING (tenant_id, settlement_id)"#,
        &tenants,
        &ids,
    )
    .fetch_all(&mut *conn)
    .await?;
    let mut contents: HashMap<_, _> = contents
        .into_iter()
        .map(|row| (row.settlement_id, (row.snapshot, row.content_hash)))
        .collect();
    let mut transfers = transfers(conn, &tenants, &ids).await?;
    let mut draws = draws(conn, &tenants, &ids).await?;
    lines
        .into_iter()
        .map(|line| {
            let (snapshot, hash) = contents.remove(&line.id.0).unwrap_or_default();
            let content_hash = Hash::try_from(hash).map_err(|hash| {
                StoreError::inconsistent("settlements", "content_hash", hex::encode(hash))
            })?;
            let transfers = transfers.remove(&line.id.0).unwrap_or_default();
            let draws = draws.remove(&line.id.0).unwrap_or_default();
            Ok(SettlementView {
                line,
                snapshot,
                content_hash,
                transfers,
                draws,
            })
        })
        .collect()
}

async fn transfers(
    conn: &mut PgConnection,
    tenants: &[Uuid],
    settlements: &[Uuid],
) -> Result<HashMap<Uuid, Vec<TransferView>>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT t.settlement_id, t.entry_type, t.posting_id, t.currency, t.amount, t.debit_account_id,
                  t.credit_account_id, t.debit_balance, t.credit_balance, d.kind AS debit_kind, c.kind AS credit_kind
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, settlement_id)
           JOIN transfers t USING (tenant_id, settlement_id)
           JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
           JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
           ORDER BY t.posting_id"#,
        tenants,
        settlements,
    )
    .fetch_all(conn)
    .await?;
    let kind = |word: &str| {
        word.parse()
            .map_err(|error| StoreError::inconsistent("accounts", "kind", error))
    };
    let mut views = HashMap::<_, Vec<_>>::new();
    for row in rows {
        let currency = currency(&row.currency)?;
        let side = |account, kind, after: Option<Decimal>, change: Decimal| {
            let balance = after.map(|after| {
                Ok::<_, StoreError>((amount(after - change, currency)?, amount(after, currency)?))
            });
            Ok::<_, StoreError>(SideView {
                account: AccountId(account),
                kind,
                balance: balance.transpose()?,
            })
        };
        views
            .entry(row.settlement_id)
            .or_default()
            .push(TransferView {
                entry_type: row
                    .entry_type
                    .parse()
                    .map_err(|error| StoreError::inconsistent("transfers", "entry_type", error))?,
                posting_id: row.posting_id,
                debit: side(
                    row.debit_account_id,
                    kind(&row.debit_kind)?,
                    row.debit_balance,
                    -row.amount,
                )?,
                credit: side(
                    row.credit_account_id,
                    kind(&row.credit_kind)?,
                    row.credit_balance,
                    row.amount,
                )?,
                amount: amount(row.amount, currency)?,
            });
    }
    Ok(views)
}

async fn draws(
    conn: &mut PgConnection,
    tenants: &[Uuid],
    settlements: &[Uuid],
) -> Result<HashMap<Uuid, Vec<DrawView>>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT d.settlement_id, d.lot_id, l.currency, l.expires_at,
                  CASE d.direction WHEN 'draw' THEN d.amount ELSE -d.amount END AS "drawn!"
           FROM unnest($1::uuid[], $2::uuid[]) AS wanted (tenant_id, settlement_id)
           JOIN lot_draws d USING (tenant_id, settlement_id)
           JOIN lots l ON l.tenant_id = d.tenant_id AND l.lot_id = d.lot_id
           ORDER BY l.expires_at, d.lot_id"#,
        tenants,
        settlements,
    )
    .fetch_all(conn)
    .await?;
    let mut views = HashMap::<_, Vec<_>>::new();
    for row in rows {
        let drawn = amount(row.drawn, currency(&row.currency)?)?;
        let draw = DrawView {
            lot: LotId(row.lot_id),
            expires_at: row.expires_at,
            drawn,
        };
        views.entry(row.settlement_id).or_default().push(draw);
    }
    Ok(views)
}
