//! Seals as they are read.

mod leaves;

use chrono::{DateTime, Utc};
use domain::{canonical::Hash, id::SettlementId, merkle::Frontier};
use sqlx::PgConnection;

pub(super) use self::leaves::{Sealed, transfers, unmoved, unmoved_of};
use crate::{
    error::StoreError,
    page::{Cursor, Page},
};

/// Seals read at a time where all are gone through.
const FOLLOWED: i64 = 200;

/// A seal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seal {
    /// Its number.
    pub number: i64,
    /// Transfers above this posting are its leaves.
    pub posting_from: i64,
    /// Transfers up to this posting are its leaves.
    pub posting_to: i64,
    /// Leaves of the tree before it.
    pub leaves_before: i64,
    /// Leaves of the tree with it.
    pub leaves: i64,
    /// How many of its leaves are settlements without transfers.
    pub unmoved: i64,
    /// What stands for every leaf so far.
    pub root: Hash,
    /// Roots of the perfect subtrees of its tree, largest first.
    pub frontier: Vec<Hash>,
    /// When it was written.
    pub sealed_at: DateTime<Utc>,
}

impl Seal {
    /// Leaves it added.
    pub fn added(&self) -> i64 {
        self.leaves - self.leaves_before
    }

    /// Its tree, to go on from; `None` when what is stored of it does not come to its root.
    pub(super) fn tree(&self) -> Option<Frontier> {
        let leaves = u64::try_from(self.leaves).ok()?;
        let tree = Frontier::read(leaves, self.frontier.clone())?;
        (tree.root() == self.root).then_some(tree)
    }
}

struct Row {
    seal_number: i64,
    posting_from: i64,
    posting_to: i64,
    leaves_before: i64,
    leaves: i64,
    unmoved: i64,
    root: Vec<u8>,
    frontier: Vec<Vec<u8>>,
    sealed_at: DateTime<Utc>,
}

impl TryFrom<Row> for Seal {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let hash = |column, bytes: Vec<u8>| {
            Hash::try_from(bytes)
                .map_err(|bytes| StoreError::inconsistent("seals", column, hex::encode(bytes)))
        };
        let peaks = row.frontier.into_iter().map(|peak| hash("frontier", peak));
        Ok(Self {
            number: row.seal_number,
            posting_from: row.posting_from,
            posting_to: row.posting_to,
            leaves_before: row.leaves_before,
            leaves: row.leaves,
            unmoved: row.unmoved,
            root: hash("root", row.root)?,
            frontier: peaks.collect::<Result<_, _>>()?,
            sealed_at: row.sealed_at,
        })
    }
}

/// The newest seal.
///
/// # Errors
/// [`StoreError`].
pub async fn newest(conn: &mut PgConnection) -> Result<Option<Seal>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "SELECT seal_number, posting_from, posting_to, leaves_before, leaves, unmoved, root, frontier, sealed_at
         FROM seals ORDER BY seal_number DESC LIMIT 1"
    )
    .fetch_optional(conn)
    .await?;
    row.map(Seal::try_from).transpose()
}

/// One seal.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, number: i64) -> Result<Option<Seal>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "SELECT seal_number, posting_from, posting_to, leaves_before, leaves, unmoved, root, frontier, sealed_at
         FROM seals WHERE seal_number = $1",
        number,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Seal::try_from).transpose()
}

/// The last seal that was written before a transaction.
pub(super) async fn last_before(
    conn: &mut PgConnection,
    transaction: i64,
) -> Result<Option<Seal>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "SELECT seal_number, posting_from, posting_to, leaves_before, leaves, unmoved, root, frontier, sealed_at
         FROM seals WHERE written_in < $1 ORDER BY seal_number DESC LIMIT 1",
        transaction,
    )
    .fetch_optional(conn)
    .await?;
    row.map(Seal::try_from).transpose()
}

/// A page of seals, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn list(conn: &mut PgConnection, cursor: Cursor<i64>) -> Result<Page<Seal>, StoreError> {
    let (upwards, start) = cursor.start(i64::MAX);
    let rows = sqlx::query_as!(
        Row,
        r#"WITH page AS (
               (SELECT seal_number FROM seals WHERE NOT $1::bool AND seal_number < $2 ORDER BY seal_number DESC LIMIT $3)
               UNION ALL
               (SELECT seal_number FROM seals WHERE $1::bool AND seal_number > $2 ORDER BY seal_number LIMIT $3))
           SELECT s.seal_number, s.posting_from, s.posting_to, s.leaves_before, s.leaves, s.unmoved, s.root, s.frontier, s.sealed_at
           FROM page JOIN seals s USING (seal_number) ORDER BY s.seal_number DESC"#,
        upwards,
        start,
        Page::<Seal>::ASK,
    )
    .fetch_all(conn)
    .await?;
    Ok(Page::new(all(rows)?, &cursor))
}

/// The seals after one, as many as have so many leaves together; one at least, while there is any.
pub(super) async fn following(
    conn: &mut PgConnection,
    after: i64,
    most_leaves: i64,
) -> Result<Vec<Seal>, StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "SELECT seal_number, posting_from, posting_to, leaves_before, leaves, unmoved, root, frontier, sealed_at
         FROM seals WHERE seal_number > $1 ORDER BY seal_number LIMIT $2",
        after,
        FOLLOWED,
    )
    .fetch_all(conn)
    .await?;
    let mut seals = all(rows)?;
    let mut leaves = 0;
    let within = seals.iter().take_while(|seal| {
        leaves += seal.added();
        leaves <= most_leaves
    });
    let within = within.count().max(1);
    seals.truncate(within);
    Ok(seals)
}

fn all(rows: Vec<Row>) -> Result<Vec<Seal>, StoreError> {
    rows.into_iter().map(Seal::try_from).collect()
}

/// The seals that a settlement's leaves are in; `None` when it is not wholly sealed yet, or unknown.
///
/// # Errors
/// [`StoreError`].
pub async fn sealed_in(
    conn: &mut PgConnection,
    settlement: SettlementId,
) -> Result<Option<Vec<i64>>, StoreError> {
    let numbers = sqlx::query_scalar!(
        r#"SELECT DISTINCT CASE WHEN t.posting_id IS NULL THEN u.seal_number ELSE (
               SELECT seal_number FROM seals WHERE posting_to >= t.posting_id ORDER BY posting_to, seal_number LIMIT 1) END
               AS "seal_number?"
           FROM settlements s LEFT JOIN transfers t USING (tenant_id, settlement_id)
           LEFT JOIN sealed_unmoved u USING (tenant_id, settlement_id)
           WHERE s.settlement_id = $1 ORDER BY 1"#,
        settlement.0,
    )
    .fetch_all(conn)
    .await?;
    let sealed = numbers.into_iter().collect::<Option<Vec<_>>>();
    Ok(sealed.filter(|numbers| !numbers.is_empty()))
}
