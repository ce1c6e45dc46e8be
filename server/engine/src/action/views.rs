//! Actions as they are read.

use chrono::{DateTime, Utc};
use domain::{
    action::{Kind, Request, State, Target},
    canonical::Hash,
    id::{ActionId, JobId, OperatorId, SettlementId, SourceId, TenantId, WalletId},
    money::{Amount, Currency},
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StoreError;

/// An operator, as others read them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Person {
    /// Id.
    pub id: OperatorId,
    /// Name.
    pub name: String,
}

/// An action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Its key.
    pub id: ActionId,
    /// Tenant of what it is about; [`super::NO_TENANT`] for a source.
    pub tenant: TenantId,
    /// Name of the wallet, the tenant or the source.
    pub name: String,
    /// Name of a wallet's tenant.
    pub tenant_name: Option<String>,
    /// Name of a source in its URL.
    pub slug: Option<String>,
    /// Mode of the wallet or the source; a tenant has both.
    pub livemode: Option<bool>,
    /// What is asked for.
    pub request: Request,
    /// How far it has come.
    pub state: State,
    /// Whether it took, or takes, a second person.
    pub needs_approval: bool,
    /// Hash of the dry run it was committed on.
    pub basis: Option<Hash>,
    /// The maker.
    pub requested_by: Person,
    /// When it was proposed.
    pub requested_at: DateTime<Utc>,
    /// Void after this instant, unless decided.
    pub expires_at: DateTime<Utc>,
    /// The checker.
    pub approved_by: Option<Person>,
    /// Who ended it.
    pub decided_by: Option<Person>,
    /// When it ended.
    pub decided_at: Option<DateTime<Utc>>,
    /// Why it was refused.
    pub decision_reason: Option<String>,
    /// What it posted.
    pub settlement: Option<SettlementId>,
}

#[derive(sqlx::FromRow)]
struct Row {
    tenant_id: Uuid,
    tenant_name: Option<String>,
    action_id: Uuid,
    action: String,
    wallet_id: Option<Uuid>,
    wallet_name: Option<String>,
    source_id: Option<Uuid>,
    source_name: Option<String>,
    slug: Option<String>,
    currency: Option<String>,
    livemode: Option<bool>,
    job_id: Option<Uuid>,
    undoes: Option<Uuid>,
    conflict_id: Option<i64>,
    amount: Option<Decimal>,
    lot_expires_at: Option<DateTime<Utc>>,
    category: String,
    reason: String,
    state: String,
    needs_approval: bool,
    basis_hash: Option<Vec<u8>>,
    requested_by: Uuid,
    requester: String,
    requested_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    approved_by: Option<Uuid>,
    approver: Option<String>,
    decided_by: Option<Uuid>,
    decider: Option<String>,
    decided_at: Option<DateTime<Utc>>,
    decision_reason: Option<String>,
    settlement_id: Option<Uuid>,
}

impl TryFrom<Row> for Action {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let currency = row.currency.as_deref();
        let currency: Option<Currency> = currency.map(|code| word("currency", code)).transpose()?;
        let amount = row
            .amount
            .zip(currency)
            .map(|(amount, currency)| Amount::exact(amount, currency))
            .transpose()
            .map_err(|error| StoreError::inconsistent("actions", "amount", error))?;
        let basis = row
            .basis_hash
            .map(Hash::try_from)
            .transpose()
            .map_err(|_| {
                StoreError::inconsistent("actions", "basis_hash", "a hash has 32 bytes")
            })?;
        let person = |id: Option<Uuid>, name: Option<String>| {
            id.zip(name).map(|(id, name)| Person {
                id: OperatorId(id),
                name,
            })
        };
        let tenant = TenantId(row.tenant_id);
        let (target, name, tenant_name) = match (row.wallet_id, row.source_id) {
            (Some(wallet), _) => (
                Target::Wallet(WalletId(wallet)),
                row.wallet_name,
                row.tenant_name,
            ),
            (None, Some(source)) => (Target::Source(SourceId(source)), row.source_name, None),
            (None, None) => (Target::Tenant(tenant), row.tenant_name, None),
        };
        let nameless = || StoreError::inconsistent("actions", "tenant_id", "it is about nothing");
        Ok(Self {
            id: ActionId(row.action_id),
            tenant,
            name: name.ok_or_else(nameless)?,
            tenant_name,
            slug: row.slug,
            livemode: row.livemode,
            request: Request {
                kind: word("action", &row.action)?,
                target,
                job: row.job_id.map(JobId),
                undoes: row.undoes.map(SettlementId),
                conflict: row.conflict_id,
                amount,
                lot_expires_at: row.lot_expires_at,
                category: word("category", &row.category)?,
                reason: row.reason,
            },
            state: word("state", &row.state)?,
            needs_approval: row.needs_approval,
            basis,
            requested_by: Person {
                id: OperatorId(row.requested_by),
                name: row.requester,
            },
            requested_at: row.requested_at,
            expires_at: row.expires_at,
            approved_by: person(row.approved_by, row.approver),
            decided_by: person(row.decided_by, row.decider),
            decided_at: row.decided_at,
            decision_reason: row.decision_reason,
            settlement: row.settlement_id.map(SettlementId),
        })
    }
}

fn word<T>(column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent("actions", column, error))
}

/// Which actions a list holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    One(ActionId),
    Waiting(bool),
    Of(WalletId),
    OfJob(JobId),
}

/// One action, if there is one.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, id: ActionId) -> Result<Option<Action>, StoreError> {
    Ok(read(conn, Which::One(id)).await?.pop())
}

/// The actions of a mode that wait for a second person, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn waiting(conn: &mut PgConnection, livemode: bool) -> Result<Vec<Action>, StoreError> {
    read(conn, Which::Waiting(livemode)).await
}

/// The newest actions on a wallet, oldest of them first; drafts are left out.
///
/// # Errors
/// [`StoreError`].
pub async fn of_wallet(
    conn: &mut PgConnection,
    wallet: WalletId,
) -> Result<Vec<Action>, StoreError> {
    read(conn, Which::Of(wallet)).await
}

/// The newest actions on a job, oldest of them first; drafts are left out.
///
/// # Errors
/// [`StoreError`].
pub async fn of_job(conn: &mut PgConnection, job: JobId) -> Result<Vec<Action>, StoreError> {
    read(conn, Which::OfJob(job)).await
}

/// How many actions wait, by mode.
///
/// # Errors
/// [`StoreError`].
pub async fn count_waiting(conn: &mut PgConnection, livemode: bool) -> Result<i64, StoreError> {
    let count = sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM actions WHERE state = 'waiting' AND (livemode = $1 OR livemode IS NULL)"#,
        livemode,
    )
    .fetch_one(conn)
    .await?;
    Ok(count)
}

/// Most actions a list shows at once.
const MOST: i64 = 200;

async fn read(conn: &mut PgConnection, which: Which) -> Result<Vec<Action>, StoreError> {
    let (one, mode, wallet, job) = match which {
        Which::One(id) => (Some(id.0), None, None, None),
        Which::Waiting(livemode) => (None, Some(livemode), None, None),
        Which::Of(wallet) => (None, None, Some(wallet.0), None),
        Which::OfJob(job) => (None, None, None, Some(job.0)),
    };
    let rows = sqlx::query_as!(
        Row,
        r#"WITH chosen AS (
               SELECT * FROM actions x
               WHERE ($1::uuid IS NULL OR x.action_id = $1)
                 AND ($2::boolean IS NULL OR (x.state = 'waiting' AND (x.livemode = $2 OR x.livemode IS NULL)))
                 AND ($3::uuid IS NULL OR (x.wallet_id = $3 AND x.state <> 'draft'))
                 AND ($5::uuid IS NULL OR (x.job_id = $5 AND x.state <> 'draft'))
               ORDER BY x.action_id DESC LIMIT $4)
           SELECT a.tenant_id, t.name AS "tenant_name?", a.action_id, a.action, a.wallet_id,
                  w.name AS "wallet_name?", a.source_id, s.name AS "source_name?", s.slug AS "slug?",
                  a.currency, a.livemode, a.job_id, a.undoes, a.conflict_id, a.amount, a.lot_expires_at,
                  a.category, a.reason, a.state, a.needs_approval, a.basis_hash, a.requested_by, m.name AS requester, a.requested_at, a.expires_at, a.approved_by,
                  c.name AS "approver?", a.decided_by, d.name AS "decider?", a.decided_at, a.decision_reason,
                  a.settlement_id
           FROM chosen a LEFT JOIN tenants t ON t.tenant_id = a.tenant_id
           LEFT JOIN wallets w ON w.tenant_id = a.tenant_id AND w.wallet_id = a.wallet_id
           LEFT JOIN sources s ON s.source_id = a.source_id
           JOIN operators m ON m.operator_id = a.requested_by
           LEFT JOIN operators c ON c.operator_id = a.approved_by
           LEFT JOIN operators d ON d.operator_id = a.decided_by
           ORDER BY a.action_id"#,
        one,
        mode,
        wallet,
        MOST,
        job,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Action::try_from).collect()
}

/// A threshold, or what was one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// The action.
    pub kind: Kind,
    /// Counts up; the highest of an action and currency is in force.
    pub version: i32,
    /// Amounts up to this one need no second person.
    pub above: Amount,
    /// Who set it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Most thresholds that are read.
const MOST_THRESHOLDS: i64 = 500;

/// Thresholds by action and currency, the newest of each first.
///
/// # Errors
/// [`StoreError`].
pub async fn thresholds(conn: &mut PgConnection) -> Result<Vec<Threshold>, StoreError> {
    let rows = sqlx::query!(
        "SELECT action, currency, version, above, created_by, created_at FROM approval_thresholds
         ORDER BY action, currency, version DESC LIMIT $1",
        MOST_THRESHOLDS,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Threshold {
                kind: word("action", &row.action)?,
                version: row.version,
                above: Amount::exact(row.above, word("currency", &row.currency)?).map_err(
                    |error| StoreError::inconsistent("approval_thresholds", "above", error),
                )?,
                by: row.created_by,
                at: row.created_at,
            })
        })
        .collect()
}
