//! Seals: what is hashed of a transfer or a settlement, and the evidence that it is sealed.
//!
//! The hash of a leaf is that of its RFC 8785 form, with every number as text. It covers what a settlement's
//! content hash leaves out (its id, wallet, mode, event and time) together with that hash, so a row that
//! is changed along with its hash and all balances still has another leaf.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    canonical::{self, CanonicalError, Hash},
    id::{AccountId, EventId, SettlementId, WalletId},
    merkle::{self, Path},
};

/// A leaf: one transfer with its settlement, or a settlement that has none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Leaf {
    /// The settlement.
    pub settlement: Settled,
    /// The transfer; `None` when nothing had to move.
    pub transfer: Option<Moved>,
}

/// The settlement of a leaf.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Settled {
    /// Its id.
    pub id: SettlementId,
    /// Its key, as text.
    pub key: String,
    /// Wallet whose money moved.
    pub wallet: WalletId,
    /// True for real money.
    pub livemode: bool,
    /// What the phase amounts to, without trailing zeros.
    pub amount: String,
    /// Its currency.
    pub currency: String,
    /// The hash of its content: key, amount, entries, snapshot.
    pub content_hash: Hash,
    /// The event that caused it, as text.
    pub event: Option<String>,
    /// When it was written.
    pub settled_at: DateTime<Utc>,
}

/// The transfer of a leaf.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Moved {
    /// Order of posting, as text.
    pub posting: String,
    /// Its role.
    pub entry_type: String,
    /// Account the amount left.
    pub debit: AccountId,
    /// Account it entered.
    pub credit: AccountId,
    /// Its currency.
    pub currency: String,
    /// The amount, without trailing zeros.
    pub amount: String,
    /// Balance of the debit account after it, for a wallet's.
    pub debit_balance: Option<String>,
    /// Balance of the credit account after it, for a wallet's.
    pub credit_balance: Option<String>,
    /// When it was written.
    pub posted_at: DateTime<Utc>,
}

impl Leaf {
    /// Its hash in the tree.
    ///
    /// # Errors
    /// [`CanonicalError`], which the types rule out.
    pub fn hash(&self) -> Result<Hash, CanonicalError> {
        hash_of(self)
    }
}

/// The event of a leaf as text.
pub fn event(id: Option<i64>) -> Option<String> {
    id.map(|id| EventId(id).to_string())
}

fn hash_of<T: Serialize>(leaf: &T) -> Result<Hash, CanonicalError> {
    canonical::bytes(leaf).map(|bytes| merkle::leaf(&bytes))
}

/// What proves to anyone, without a database, that a settlement is sealed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The settlement.
    pub settlement: SettlementId,
    /// One for each of its transfers, or one for the settlement itself when it has none.
    pub proofs: Vec<Proof>,
}

/// What proves that one leaf is sealed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// Number of the seal.
    pub seal: i64,
    /// The seal's root, to be compared with the one that was noted elsewhere.
    pub root: Hash,
    /// Leaves of the seal's tree.
    pub leaves: u64,
    /// Place of the leaf among them, counted from 0.
    pub index: u64,
    /// What was sealed.
    pub leaf: serde_json::Value,
    /// The hashes beside the way from the leaf to the root, nearest first.
    pub path: Vec<Hash>,
}

/// Why evidence proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// It holds no proof.
    #[error("there is no proof in it")]
    Empty,
    /// One of its leaves is about something else.
    #[error("a leaf of it belongs to another settlement")]
    OtherSettlement,
    /// A leaf does not lead to the root it names.
    #[error("leaf {index} does not lead to the root of seal {seal}")]
    OtherRoot {
        /// Number of the seal.
        seal: i64,
        /// Place of the leaf.
        index: u64,
    },
}

impl Evidence {
    /// Whether every leaf is about the settlement and leads to the root it names. Whether that root is
    /// the seal's is for whoever noted it to say.
    ///
    /// # Errors
    /// [`EvidenceError`] names the first that does not.
    pub fn check(&self) -> Result<(), EvidenceError> {
        if self.proofs.is_empty() {
            return Err(EvidenceError::Empty);
        }
        for proof in &self.proofs {
            if proof.leaf["settlement"]["id"] != self.settlement.to_string() {
                return Err(EvidenceError::OtherSettlement);
            }
            if !proof.holds() {
                return Err(EvidenceError::OtherRoot {
                    seal: proof.seal,
                    index: proof.index,
                });
            }
        }
        Ok(())
    }
}

impl Proof {
    fn holds(&self) -> bool {
        let path = Path {
            index: self.index,
            leaves: self.leaves,
            beside: self.path.clone(),
        };
        hash_of(&self.leaf).is_ok_and(|leaf| path.root(leaf) == Some(self.root))
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::merkle::{Frontier, Prover};

    fn sealed() -> Leaf {
        let at = "2026-12-01T12:00:00.000001Z".parse().unwrap();
        Leaf {
            settlement: Settled {
                id: SettlementId(Uuid::from_u128(1)),
                key: "tenant_1/job_2/capture/1".into(),
                wallet: WalletId(Uuid::from_u128(2)),
                livemode: true,
                amount: "3".into(),
                currency: "USD".into(),
                content_hash: Hash::of_bytes(b"content"),
                event: event(Some(7)),
                settled_at: at,
            },
            transfer: Some(Moved {
                posting: "12".into(),
                entry_type: "capture".into(),
                debit: AccountId(Uuid::from_u128(3)),
                credit: AccountId(Uuid::from_u128(4)),
                currency: "USD".into(),
                amount: "3".into(),
                debit_balance: Some("1.5".into()),
                credit_balance: None,
                posted_at: at,
            }),
        }
    }

    #[test]
    fn a_leaf_is_hashed_in_this_form_for_ever() {
        let form = String::from_utf8(canonical::bytes(&sealed()).unwrap()).unwrap();
        insta::assert_snapshot!(form, @r#"{"settlement":{"amount":"3","content_hash":"ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73","currency":"USD","event":"evt_7","id":"stl_00000000000000000000000000000001","key":"tenant_1/job_2/capture/1","livemode":true,"settled_at":"2026-12-01T12:00:00.000001Z","wallet":"wallet_00000000000000000000000000000002"},"transfer":{"amount":"3","credit":"acct_00000000000000000000000000000004","credit_balance":null,"currency":"USD","debit":"acct_00000000000000000000000000000003","debit_balance":"1.5","entry_type":"capture","posted_at":"2026-12-01T12:00:00.000001Z","posting":"12"}}"#);
    }

    #[test]
    fn every_part_of_a_leaf_is_in_its_hash() {
        let hash = sealed().hash().unwrap();
        let form = serde_json::to_value(sealed()).unwrap();
        assert_eq!(hash_of(&form), Ok(hash));
        for part in ["settlement", "transfer"] {
            for field in form[part].as_object().unwrap().keys() {
                let mut changed = form.clone();
                changed[part][field] = "another".into();
                assert_ne!(hash_of(&changed), Ok(hash), "{part}.{field}");
            }
        }
    }

    fn evidence() -> Evidence {
        let (mut tree, leaf) = (Frontier::default(), sealed());
        let mut prover = Prover::new(&tree, 1, 3).unwrap();
        let others = [merkle::leaf(b"before"), merkle::leaf(b"after")];
        for hash in [others[0], leaf.hash().unwrap(), others[1]] {
            tree.append(hash);
            prover.append(hash);
        }
        let path = prover.finish().unwrap();
        let proof = Proof {
            seal: 1,
            root: tree.root(),
            leaves: path.leaves,
            index: path.index,
            leaf: serde_json::to_value(&leaf).unwrap(),
            path: path.beside,
        };
        Evidence {
            settlement: leaf.settlement.id,
            proofs: vec![proof],
        }
    }

    #[test]
    fn evidence_survives_being_written_down() {
        let text = serde_json::to_string_pretty(&evidence()).unwrap();
        let read: Evidence = serde_json::from_str(&text).unwrap();
        assert_eq!(read.check(), Ok(()));
    }

    #[test]
    fn evidence_about_something_else_proves_nothing() {
        let changed = |change: fn(&mut Evidence)| {
            let mut evidence = evidence();
            change(&mut evidence);
            evidence.check()
        };
        let other_root = Err(EvidenceError::OtherRoot { seal: 1, index: 1 });
        assert_eq!(changed(|e| e.proofs.clear()), Err(EvidenceError::Empty));
        let other = changed(|e| e.settlement = SettlementId(Uuid::nil()));
        assert_eq!(other, Err(EvidenceError::OtherSettlement));
        let amount = changed(|e| e.proofs[0].leaf["transfer"]["amount"] = "4".into());
        assert_eq!(amount, other_root);
        let root = changed(|e| e.proofs[0].root = Hash::of_bytes(b"another"));
        assert_eq!(root, other_root);
        let path = changed(|e| e.proofs[0].path.reverse());
        assert_eq!(path, other_root);
    }
}
