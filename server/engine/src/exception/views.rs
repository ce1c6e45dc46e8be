//! Exceptions as they are read.

use chrono::{DateTime, Utc};
use domain::{
    exception::{Class, State, What},
    id::{AccountId, LotId, OperatorId, TenantId, WalletId},
    money::Currency,
};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Which exceptions are listed; everything that is set must hold.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Where it stands.
    pub state: Option<State>,
    /// What does not hold.
    pub class: Option<Class>,
    /// Who looks after it.
    pub owner: Option<OperatorId>,
    /// Only what asks for attention at this instant: open and not snoozed.
    pub asks_at: Option<DateTime<Utc>>,
}

/// An exception.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exception {
    /// Its number; shown as `exc_…`.
    pub id: i64,
    /// What does not hold.
    pub class: Class,
    /// For what.
    pub subject: String,
    /// In whose books.
    pub tenant: Option<(TenantId, String)>,
    /// The number that should be there.
    pub expected: Option<Decimal>,
    /// The number that is there.
    pub actual: Option<Decimal>,
    /// Currency of both.
    pub currency: Option<Currency>,
    /// What is wrong, in a line.
    pub detail: String,
    /// Where it stands.
    pub state: State,
    /// When it was first found.
    pub first_seen_at: DateTime<Utc>,
    /// When it was last found.
    pub last_seen_at: DateTime<Utc>,
    /// How often.
    pub times_seen: i32,
    /// By when someone should have looked at it.
    pub due_at: DateTime<Utc>,
    /// Who looks after it.
    pub owner: Option<(OperatorId, String)>,
    /// It asks for nobody's attention before this instant.
    pub snoozed_until: Option<DateTime<Utc>>,
    /// When a run found it right.
    pub closed_at: Option<DateTime<Utc>>,
}

impl Exception {
    /// What is there beyond what should be.
    pub fn difference(&self) -> Option<Decimal> {
        self.actual?.checked_sub(self.expected?)
    }
}

struct Row {
    exception_id: i64,
    class: String,
    subject: String,
    tenant_id: Option<Uuid>,
    tenant_name: Option<String>,
    expected: Option<Decimal>,
    actual: Option<Decimal>,
    currency: Option<String>,
    detail: String,
    state: String,
    first_seen_at: DateTime<Utc>,
    last_seen_at: DateTime<Utc>,
    times_seen: i32,
    due_at: DateTime<Utc>,
    owner: Option<Uuid>,
    owner_name: Option<String>,
    snoozed_until: Option<DateTime<Utc>>,
    closed_at: Option<DateTime<Utc>>,
}

impl TryFrom<Row> for Exception {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let currency = row.currency.map(|code| code.parse()).transpose();
        Ok(Self {
            id: row.exception_id,
            class: word("class", &row.class)?,
            subject: row.subject,
            tenant: row.tenant_id.map(TenantId).zip(row.tenant_name),
            expected: row.expected,
            actual: row.actual,
            currency: currency
                .map_err(|error| StoreError::inconsistent("exceptions", "currency", error))?,
            detail: row.detail,
            state: word("state", &row.state)?,
            first_seen_at: row.first_seen_at,
            last_seen_at: row.last_seen_at,
            times_seen: row.times_seen,
            due_at: row.due_at,
            owner: row.owner.map(OperatorId).zip(row.owner_name),
            snoozed_until: row.snoozed_until,
            closed_at: row.closed_at,
        })
    }
}

fn word<T>(column: &'static str, text: &str) -> Result<T, StoreError>
where
    T: std::str::FromStr<Err = domain::code::UnknownWord>,
{
    text.parse()
        .map_err(|error| StoreError::inconsistent("exceptions", column, error))
}

/// A page of exceptions, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(
    conn: &mut PgConnection,
    filter: &Filter,
    cursor: Cursor<i64>,
) -> Result<Page<Exception>, StoreError> {
    let (upwards, start) = cursor.start(i64::MAX);
    let rows = read(conn, filter, None, (upwards, start)).await?;
    Ok(Page::read(rows, &cursor))
}

/// One exception.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, id: i64) -> Result<Option<Exception>, StoreError> {
    let mut rows = read(conn, &Filter::default(), Some(id), (false, i64::MAX)).await?;
    Ok(rows.pop())
}

async fn read(
    conn: &mut PgConnection,
    filter: &Filter,
    id: Option<i64>,
    (upwards, start): (bool, i64),
) -> Result<Vec<Exception>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT e.exception_id, e.class, e.subject, e.tenant_id, t.name AS "tenant_name?", e.expected, e.actual, e.currency,
                  e.detail, e.state, e.first_seen_at, e.last_seen_at, e.times_seen, e.due_at, e.owner,
                  o.name AS "owner_name?", e.snoozed_until, e.closed_at
           FROM exceptions e LEFT JOIN tenants t ON t.tenant_id = e.tenant_id LEFT JOIN operators o ON o.operator_id = e.owner
           WHERE CASE WHEN $1::bool THEN e.exception_id > $2 ELSE e.exception_id < $2 END
             AND ($3::bigint IS NULL OR e.exception_id = $3)
             AND ($4::text IS NULL OR e.state = $4)
             AND ($5::text IS NULL OR e.class = $5)
             AND ($6::uuid IS NULL OR e.owner = $6)
             AND ($7::timestamptz IS NULL OR (e.state = 'open' AND (e.snoozed_until IS NULL OR e.snoozed_until <= $7)))
           ORDER BY CASE WHEN $1 THEN e.exception_id ELSE -e.exception_id END LIMIT $8"#,
        upwards,
        start,
        id,
        filter.state.map(|state| state.as_str()),
        filter.class.map(|class| class.as_str()),
        filter.owner.map(|owner| owner.0),
        filter.asks_at,
        Page::<Exception>::ASK,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter().map(Exception::try_from).collect()
}

/// How many are open, and how many of them ask for attention at this instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Open {
    /// What is wrong, put off or not.
    pub all: i64,
    /// What is not put off.
    pub asking: i64,
}

/// Counts what is open at this instant.
///
/// # Errors
/// [`StoreError`].
pub async fn open(conn: &mut PgConnection, now: DateTime<Utc>) -> Result<Open, StoreError> {
    let open = sqlx::query_as!(
        Open,
        r#"SELECT count(*) AS "all!", count(*) FILTER (WHERE snoozed_until IS NULL OR snoozed_until <= $1) AS "asking!"
           FROM exceptions WHERE state = 'open'"#,
        now,
    )
    .fetch_one(conn)
    .await?;
    Ok(open)
}

/// The wallet that an account or a lot belongs to, by the subject of an exception.
///
/// # Errors
/// [`StoreError`].
pub async fn wallet_of(
    conn: &mut PgConnection,
    subject: &str,
) -> Result<Option<WalletId>, StoreError> {
    let name = subject.split(' ').next().unwrap_or_default();
    let account = name.parse::<AccountId>().map(|account| account.0).ok();
    let lot = name.parse::<LotId>().map(|lot| lot.0).ok();
    if account.is_none() && lot.is_none() {
        return Ok(None);
    }
    let wallet = sqlx::query_scalar!(
        r#"SELECT a.wallet_id AS "wallet_id!" FROM tenants t
           JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = $1 WHERE a.wallet_id IS NOT NULL
           UNION ALL
           SELECT l.wallet_id FROM tenants t JOIN lots l ON l.tenant_id = t.tenant_id AND l.lot_id = $2"#,
        account,
        lot,
    )
    .fetch_optional(conn)
    .await?;
    Ok(wallet.map(WalletId))
}

/// What was done about an exception.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What.
    pub what: What,
    /// The person, or nobody when a run did it.
    pub by: Option<String>,
    /// The run, when one did it.
    pub run: Option<i64>,
    /// Why, or what was seen.
    pub text: Option<String>,
    /// When.
    pub at: DateTime<Utc>,
}

/// Most notes that are read of one exception.
const MOST_NOTES: i64 = 200;

/// What was done about an exception, oldest first.
///
/// # Errors
/// [`StoreError`].
pub async fn notes(conn: &mut PgConnection, id: i64) -> Result<Vec<Note>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT n.what, o.name AS "by?", n.run_id, n.text, n.at
           FROM exception_notes n LEFT JOIN operators o ON o.operator_id = n.operator_id
           WHERE n.exception_id = $1 ORDER BY n.note_id LIMIT $2"#,
        id,
        MOST_NOTES,
    )
    .fetch_all(conn)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Note {
                what: (row.what.parse())
                    .map_err(|error| StoreError::inconsistent("exception_notes", "what", error))?,
                by: row.by,
                run: row.run_id,
                text: row.text,
                at: row.at,
            })
        })
        .collect()
}
