//! Sealing: every settlement and transfer becomes a leaf of one Merkle tree, a seal a round.
//!
//! A leaf is a transfer with its settlement, or a settlement without transfers ([`domain::seal`]). A seal's
//! leaves are its transfers in posting order and then its settlements without transfers by id; each seal
//! continues the one before, which constraints hold. Nothing is added to the transactions that settle.
//!
//! **No late transfer is skipped.** Postings are given out before their transactions commit, and some never
//! do, so what is sealed up to must be decided: no transaction that may still commit has a posting at or
//! below it. The sealer reads how far the sequence has been given out, and *then* takes a transaction id of
//! its own. Whoever was given a posting up to there had a transaction id by then (it had written the
//! settlement that the transfer refers to), and ids are given out in order, so it is a smaller one. Once the
//! oldest id still running is not smaller than the sealer's, all of those have ended: what committed is
//! seen by every later statement, what did not never comes. A long transaction therefore delays sealing, and
//! nothing else. What is waited for is kept in memory: a sealer that starts over asks again.
//!
//! **Settlements without transfers** have no posting, and their ids (time-ordered, minted before the commit,
//! by clocks that differ) do not tell which is still to come. So nothing is concluded from their order: any that
//! is committed and not written down as sealed is sealed now, and written down. A round looks at those that
//! were written since the oldest transaction that ran during the round before, so what commits late is not missed;
//! the first round looks at all.
//!
//! Cost: a round streams at most [`MOST`] transfers and as many settlements, and keeps hashes only of the
//! frontier. It is one transaction, so a round that is killed leaves nothing.

mod follow;
mod prove;
mod store;
pub mod views;

use domain::{canonical::Hash, id::SettlementId, merkle::Frontier};
use futures::TryStreamExt;
use sqlx::PgConnection;
use uuid::Uuid;

pub(crate) use self::follow::follow;
use self::views::Seal;
pub use self::{follow::Head, prove::ProofError};
use crate::{Engine, error::StoreError};

/// Postings a round covers at most, and settlements without transfers.
pub const MOST: i64 = 50_000;

/// What a round came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// Someone else is sealing.
    Busy,
    /// There was nothing to seal.
    Nothing {
        /// Whether transactions have to end before more can be sealed.
        waiting: bool,
    },
    /// A seal was written.
    Sealed {
        /// Its number.
        number: i64,
        /// Leaves it added.
        added: i64,
        /// Whether there is more to seal at once.
        more: bool,
    },
}

/// Seals, a round at a time.
#[derive(Debug)]
pub struct Sealer {
    engine: Engine,
    most: i64,
    /// Up to this posting, no transaction that may still commit has any.
    decided: i64,
    waiting: Option<Candidate>,
    /// Settlements without transfers of every transaction before this one are sealed.
    looked_before: i64,
}

/// A posting that is decided once every transaction with a smaller id has ended.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    posting: i64,
    transaction: i64,
}

impl Sealer {
    /// A sealer that covers at most so many postings a round.
    pub fn new(engine: Engine, most: i64) -> Self {
        Self {
            engine,
            most,
            decided: 0,
            waiting: None,
            looked_before: 0,
        }
    }

    /// Seals once.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was sealed then.
    pub async fn round(&mut self) -> Result<Round, StoreError> {
        // Each statement must see what committed before it, not before the first.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
        let mut tx = self.engine.pool().begin_with(begin).await?;
        if !store::try_lock(&mut tx).await? {
            tx.rollback().await?;
            return Ok(Round::Busy);
        }
        store::prepare(&mut tx).await?;
        let oldest_running = self.decide(&mut tx).await?;
        let now = self.engine.clock().now();
        let last = views::newest(&mut tx).await?;
        let mut next = Next::after(last.as_ref())?;
        next.take_transfers(&mut tx, self.decided, self.most)
            .await?;
        let since = self.looked_before;
        next.take_unmoved(&mut tx, since, self.most).await?;
        let all_seen = (next.unmoved.len() as i64) < self.most;
        let round = if next.added() > 0 {
            store::insert(&mut tx, &next, now).await?;
            tx.commit().await?;
            Round::Sealed {
                number: next.number,
                added: next.added(),
                more: !all_seen || next.posting_to < self.decided,
            }
        } else {
            tx.rollback().await?;
            let waiting = self.waiting.is_some();
            Round::Nothing { waiting }
        };
        if all_seen {
            self.looked_before = oldest_running;
        }
        Ok(round)
    }

    /// Finds out up to which posting everything is decided, and before which transaction.
    async fn decide(&mut self, conn: &mut PgConnection) -> Result<i64, StoreError> {
        let mut oldest_running = 0;
        // What an earlier round waited for, and what there is now.
        for _ in 0..2 {
            let candidate = match self.waiting {
                Some(candidate) => candidate,
                None => Candidate {
                    posting: store::last_posting(conn).await?,
                    transaction: store::own_transaction(conn).await?,
                },
            };
            oldest_running = store::oldest_running(conn).await?;
            if oldest_running < candidate.transaction {
                self.waiting = Some(candidate);
                break;
            }
            self.waiting = None;
            self.decided = candidate.posting;
        }
        Ok(oldest_running)
    }
}

/// The next seal, while it grows.
struct Next {
    number: i64,
    previous_root: Option<Hash>,
    posting_from: i64,
    posting_to: i64,
    leaves_before: i64,
    tree: Frontier,
    /// Tenants and settlements of its leaves without transfers.
    unmoved: Vec<(Uuid, SettlementId)>,
}

impl Next {
    fn after(last: Option<&Seal>) -> Result<Self, StoreError> {
        let tree = match last {
            None => Frontier::default(),
            Some(last) => last.tree().ok_or_else(|| {
                let why = format!("that of seal {} does not come to its root", last.number);
                StoreError::inconsistent("seals", "frontier", why)
            })?,
        };
        let posting_to = last.map_or(0, |last| last.posting_to);
        Ok(Self {
            number: last.map_or(1, |last| last.number + 1),
            previous_root: last.map(|last| last.root),
            posting_from: posting_to,
            posting_to,
            leaves_before: last.map_or(0, |last| last.leaves),
            tree,
            unmoved: Vec::new(),
        })
    }

    /// Leaves of the tree.
    fn leaves(&self) -> i64 {
        i64::try_from(self.tree.leaves()).unwrap_or(i64::MAX)
    }

    fn added(&self) -> i64 {
        self.leaves() - self.leaves_before
    }

    /// Takes the next stretch of postings that has any transfer, up to what is decided.
    async fn take_transfers(
        &mut self,
        conn: &mut PgConnection,
        decided: i64,
        most: i64,
    ) -> Result<(), StoreError> {
        while self.posting_to < decided && self.added() == 0 {
            let from = self.posting_to;
            self.posting_to = decided.min(from.saturating_add(most));
            let mut transfers = views::transfers(conn, from, self.posting_to);
            while let Some(sealed) = transfers.try_next().await? {
                self.tree.append(sealed.hash()?);
            }
        }
        Ok(())
    }

    /// Takes settlements without transfers that are not sealed yet.
    async fn take_unmoved(
        &mut self,
        conn: &mut PgConnection,
        since: i64,
        most: i64,
    ) -> Result<(), StoreError> {
        let mut settlements = views::unmoved(conn, since, most);
        while let Some(sealed) = settlements.try_next().await? {
            self.tree.append(sealed.hash()?);
            self.unmoved
                .push((sealed.tenant, sealed.leaf.settlement.id));
        }
        Ok(())
    }
}
