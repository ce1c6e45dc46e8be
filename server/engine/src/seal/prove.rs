//! Evidence that a settlement is sealed, for whoever noted a root. Cost: the leaves of its seal, and of those
//! after it up to the noted one, are read and hashed once, a seal at a time.

use domain::{
    canonical::Hash,
    id::SettlementId,
    merkle::{Frontier, Prover},
    seal::{Evidence, EvidenceError, Leaf, Proof},
};
use futures::TryStreamExt;
use sqlx::PgConnection;

use super::views::{self, Seal};
use crate::{Engine, error::StoreError};

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// Nothing to prove.
    #[error("{0} is not sealed yet, or does not exist")]
    NotSealed(SettlementId),
    /// The seal does not stand for it.
    #[error("{0} is in seal {1}, which seal {2} does not stand for, or which is not there")]
    NotUnder(SettlementId, i64, i64),
    /// What is stored is not what was sealed.
    #[error("what is stored of {0} is not what was sealed; `quittance verify` says more")]
    Broken(SettlementId, #[source] EvidenceError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// What proves that a settlement is sealed: one proof for each of its leaves, `under` a seal whose root
    /// was noted, or under the seal each is in.
    ///
    /// # Errors
    /// [`ProofError`].
    pub async fn seal_evidence(
        &self,
        settlement: SettlementId,
        under: Option<i64>,
    ) -> Result<Evidence, ProofError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let begun = self.pool().begin_with(begin).await;
        let mut tx = begun.map_err(StoreError::from)?;
        let numbers = views::sealed_in(&mut tx, settlement)
            .await?
            .ok_or(ProofError::NotSealed(settlement))?;
        let mut proofs = Vec::new();
        for number in numbers {
            let under = under.unwrap_or(number);
            let seal = views::find(&mut tx, number).await?;
            let later = views::find(&mut tx, under).await?;
            let (Some(seal), Some(under)) = (seal, later.filter(|_| number <= under)) else {
                return Err(ProofError::NotUnder(settlement, number, under));
            };
            proofs.extend(proofs_in(&mut tx, &seal, &under, settlement).await?);
        }
        tx.rollback().await.map_err(StoreError::from)?;
        let evidence = Evidence { settlement, proofs };
        match evidence.check() {
            Ok(()) => Ok(evidence),
            Err(error) => Err(ProofError::Broken(settlement, error)),
        }
    }
}

/// Proofs of the settlement's leaves that are in this seal, under it or a later one.
async fn proofs_in(
    conn: &mut PgConnection,
    seal: &Seal,
    under: &Seal,
    settlement: SettlementId,
) -> Result<Vec<Proof>, StoreError> {
    let before = match views::find(conn, seal.number - 1).await? {
        None => Some(Frontier::default()),
        Some(before) => before.tree(),
    };
    // Without the tree before there is nothing to go on from, and nothing is proven.
    let before = before.unwrap_or_default();
    let (hashes, found) = leaves(conn, seal, settlement).await?;
    let leaves_under = u64::try_from(under.leaves).unwrap_or(0);
    let prover = |(place, leaf): (usize, Leaf)| {
        let prover = Prover::new(&before, before.leaves() + place as u64, leaves_under)?;
        Some((prover, leaf))
    };
    let mut provers: Vec<_> = found.into_iter().filter_map(prover).collect();
    pass(&mut provers, &hashes);
    for number in seal.number + 1..=under.number {
        if let Some(later) = views::find(conn, number).await? {
            pass(&mut provers, &leaves(conn, &later, settlement).await?.0);
        }
    }
    let proof = |(prover, leaf): (Prover, Leaf)| {
        let path = prover.finish()?;
        Some(Proof {
            seal: under.number,
            root: under.root,
            leaves: path.leaves,
            index: path.index,
            leaf: serde_json::to_value(&leaf).ok()?,
            path: path.beside,
        })
    };
    Ok(provers.into_iter().filter_map(proof).collect())
}

/// Lets leaves go by.
fn pass(provers: &mut [(Prover, Leaf)], hashes: &[Hash]) {
    for (prover, _) in provers {
        hashes.iter().for_each(|hash| prover.append(*hash));
    }
}

/// The hashes of all leaves of a seal, and the settlement's leaves among them with their places.
async fn leaves(
    conn: &mut PgConnection,
    seal: &Seal,
    settlement: SettlementId,
) -> Result<(Vec<Hash>, Vec<(usize, Leaf)>), StoreError> {
    let (mut hashes, mut found) = (Vec::new(), Vec::new());
    let mut take = |sealed: views::Sealed| {
        let hash = sealed.hash()?;
        if sealed.leaf.settlement.id == settlement {
            found.push((hashes.len(), sealed.leaf));
        }
        hashes.push(hash);
        Ok::<_, StoreError>(())
    };
    let mut transfers = views::transfers(conn, seal.posting_from, seal.posting_to);
    while let Some(sealed) = transfers.try_next().await? {
        take(sealed)?;
    }
    drop(transfers);
    let mut unmoved = views::unmoved_of(conn, seal.number, seal.number);
    while let Some(sealed) = unmoved.try_next().await? {
        take(sealed)?;
    }
    drop(unmoved);
    Ok((hashes, found))
}
