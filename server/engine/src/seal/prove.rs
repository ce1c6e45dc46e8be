//! Evidence that a settlement is sealed, for whoever noted the root. Cost: the leaves of its seal are read
//! and hashed once.

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
    /// What is stored is not what was sealed.
    #[error("what is stored of {0} is not what was sealed; `quittance verify` says more")]
    Broken(SettlementId, #[source] EvidenceError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// What proves that a settlement is sealed: one proof for each of its leaves, under the seal each is in.
    ///
    /// # Errors
    /// [`ProofError`].
    pub async fn seal_evidence(&self, settlement: SettlementId) -> Result<Evidence, ProofError> {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
        let begun = self.pool().begin_with(begin).await;
        let mut tx = begun.map_err(StoreError::from)?;
        let numbers = views::sealed_in(&mut tx, settlement)
            .await?
            .ok_or(ProofError::NotSealed(settlement))?;
        let mut proofs = Vec::new();
        for number in numbers {
            let seal = views::find(&mut tx, number)
                .await?
                .ok_or(ProofError::NotSealed(settlement))?;
            proofs.extend(proofs_in(&mut tx, &seal, settlement).await?);
        }
        tx.rollback().await.map_err(StoreError::from)?;
        let evidence = Evidence { settlement, proofs };
        match evidence.check() {
            Ok(()) => Ok(evidence),
            Err(error) => Err(ProofError::Broken(settlement, error)),
        }
    }
}

/// Proofs of the settlement's leaves that are in this seal.
async fn proofs_in(
    conn: &mut PgConnection,
    seal: &Seal,
    settlement: SettlementId,
) -> Result<Vec<Proof>, StoreError> {
    let before = match views::find(conn, seal.number - 1).await? {
        None => Some(Frontier::default()),
        Some(before) => before.tree(),
    };
    let (hashes, found) = leaves(conn, seal, settlement).await?;
    let proof = |(place, leaf): (usize, Leaf)| {
        let before = before.as_ref()?;
        let index = before.leaves() + place as u64;
        let mut prover = Prover::new(before, index, before.leaves() + hashes.len() as u64)?;
        hashes.iter().for_each(|hash| prover.append(*hash));
        let path = prover.finish()?;
        Some(Proof {
            seal: seal.number,
            root: seal.root,
            leaves: path.leaves,
            index,
            leaf: serde_json::to_value(&leaf).ok()?,
            path: path.beside,
        })
    };
    Ok(found.into_iter().filter_map(proof).collect())
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
