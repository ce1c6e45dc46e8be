//! Settlements: phases, keys, and the entries a phase may post.
//!
//! An entry type fixes its two accounts, so no code chooses a debit or credit side by hand.

use std::fmt;

use serde::Serialize;

use crate::{
    canonical::{CanonicalError, Hash},
    code::code,
    id::{JobId, LotId, TenantId},
    money::Amount,
};

code!(
    /// The billable phases of a subject.
    Phase {
        /// Set funds aside.
        Reserve = "reserve",
        /// Charge what was used.
        Capture = "capture",
        /// Return a hold.
        Release = "release",
        /// Correct what was charged.
        Adjustment = "adjustment",
        /// Undo a settlement.
        Reversal = "reversal",
        /// Add credit.
        Grant = "grant",
        /// Credit that ran out of time.
        Expiry = "expiry",
        /// Return what was charged.
        Refund = "refund",
        /// Give up on a receivable or an uncertain hold.
        WriteOff = "write_off",
    }
);

code!(
    /// What the money in an account is for.
    AccountKind {
        /// A wallet's funds that may be spent.
        Available = "available",
        /// A wallet's funds set aside for jobs.
        Held = "held",
        /// Earned.
        Revenue = "revenue",
        /// Where credit comes from: money paid in outside the ledger.
        Funding = "funding",
        /// Owed by the tenant.
        Receivable = "receivable",
        /// Credit that expired unspent.
        Breakage = "breakage",
        /// Credit given away.
        Goodwill = "goodwill",
    }
);

impl AccountKind {
    /// Whether a wallet has its own account of this kind. Wallet accounts are locked before they are
    /// written and never go below zero; the others belong to the platform side of a tenant's books.
    pub fn of_wallet(self) -> bool {
        matches!(self, Self::Available | Self::Held)
    }

    /// The accounts a tenant has once per currency and mode.
    pub const PLATFORM: [Self; 5] = [
        Self::Revenue,
        Self::Funding,
        Self::Receivable,
        Self::Breakage,
        Self::Goodwill,
    ];
}

code!(
    /// Role of a transfer within its settlement; at most one of each.
    EntryType {
        /// Reserve: available → held.
        Hold = "hold",
        /// Capture: held → revenue.
        Capture = "capture",
        /// Capture: what the hold did not need, held → available.
        Remainder = "remainder",
        /// Capture: usage above the hold, available → revenue.
        Overage = "overage",
        /// Capture: usage above the hold, booked as owed, receivable → revenue.
        Receivable = "receivable",
        /// Release: held → available.
        Release = "release",
        /// Adjustment upwards: available → revenue.
        AdjustmentCharge = "adjustment_charge",
        /// Adjustment downwards: revenue → available.
        AdjustmentCredit = "adjustment_credit",
        /// Adjustment upwards, booked as owed: receivable → revenue.
        AdjustmentReceivable = "adjustment_receivable",
        /// Adjustment downwards of what is owed: revenue → receivable.
        AdjustmentReceivableCredit = "adjustment_receivable_credit",
        /// Grant: funding → available.
        Grant = "grant",
        /// Grant of credit nobody paid for: goodwill → available.
        Goodwill = "goodwill",
        /// Expiry: available → breakage.
        Breakage = "breakage",
    }
);

impl EntryType {
    /// The account it debits and the account it credits.
    pub fn accounts(self) -> (AccountKind, AccountKind) {
        use AccountKind::{Available, Breakage, Funding, Goodwill, Held, Receivable, Revenue};
        match self {
            Self::Hold => (Available, Held),
            Self::Capture => (Held, Revenue),
            Self::Remainder | Self::Release => (Held, Available),
            Self::Overage | Self::AdjustmentCharge => (Available, Revenue),
            Self::Receivable | Self::AdjustmentReceivable => (Receivable, Revenue),
            Self::AdjustmentCredit => (Revenue, Available),
            Self::AdjustmentReceivableCredit => (Revenue, Receivable),
            Self::Grant => (Funding, Available),
            Self::Goodwill => (Goodwill, Available),
            Self::Breakage => (Available, Breakage),
        }
    }
}

/// What is settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Subject {
    /// A job.
    Job(JobId),
    /// A lot of credit.
    Lot(LotId),
}

impl Subject {
    /// Word of its kind.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Job(_) => "job",
            Self::Lot(_) => "lot",
        }
    }

    /// Its id without the prefix.
    pub fn uuid(self) -> uuid::Uuid {
        match self {
            Self::Job(id) => id.0,
            Self::Lot(id) => id.0,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(id) => id.fmt(f),
            Self::Lot(id) => id.fmt(f),
        }
    }
}

/// The immutable identity of one money effect: at most one settlement with it commits, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SettlementKey {
    /// Tenant.
    pub tenant: TenantId,
    /// What is settled.
    pub subject: Subject,
    /// Phase.
    pub phase: Phase,
    /// Counts up from 1 within subject and phase.
    pub version: i32,
}

/// `tenant_…/job_…/capture/1`
impl fmt::Display for SettlementKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{}/{}",
            self.tenant, self.subject, self.phase, self.version
        )
    }
}

/// One movement of a settlement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its role, which fixes its accounts.
    pub entry_type: EntryType,
    /// Always positive.
    pub amount: Amount,
}

/// One phase, decided and ready to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Phase.
    pub phase: Phase,
    /// Version.
    pub version: i32,
    /// What the phase amounts to.
    pub amount: Amount,
    /// Movements; none when the work cost nothing.
    pub entries: Vec<Entry>,
    /// Usage, prices and arithmetic it was decided from.
    pub snapshot: serde_json::Value,
}

impl Effect {
    /// Hash over everything that must be equal when the same key is settled again.
    ///
    /// # Errors
    /// When the snapshot has no canonical form.
    pub fn content_hash(&self, key: &SettlementKey) -> Result<Hash, CanonicalError> {
        #[derive(Serialize)]
        struct Content<'a> {
            key: String,
            amount: String,
            currency: &'a str,
            entries: Vec<(EntryType, String)>,
            snapshot: &'a serde_json::Value,
        }
        let entry = |entry: &Entry| {
            (
                entry.entry_type,
                entry.amount.value().normalize().to_string(),
            )
        };
        Hash::of(&Content {
            key: key.to_string(),
            amount: self.amount.value().normalize().to_string(),
            currency: self.amount.currency().code(),
            entries: self.entries.iter().map(entry).collect(),
            snapshot: &self.snapshot,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn key(version: i32) -> SettlementKey {
        let (tenant, subject) = (
            TenantId(Uuid::from_u128(1)),
            Subject::Job(JobId(Uuid::from_u128(2))),
        );
        SettlementKey {
            tenant,
            subject,
            phase: Phase::Capture,
            version,
        }
    }

    #[test]
    fn the_key_reads_tenant_subject_phase_version() {
        assert_eq!(
            key(1).to_string(),
            "tenant_00000000000000000000000000000001/job_00000000000000000000000000000002/capture/1"
        );
    }

    #[test]
    fn the_content_hash_sees_amount_entries_snapshot_and_key() {
        let amount =
            |text: &str| Amount::exact(text.parse().unwrap(), "USD".parse().unwrap()).unwrap();
        let effect = |text: &str, snapshot: &str| Effect {
            phase: Phase::Capture,
            version: 1,
            amount: amount(text),
            entries: vec![Entry {
                entry_type: EntryType::Capture,
                amount: amount(text),
            }],
            snapshot: serde_json::json!({ "model": snapshot }),
        };
        let hash = |effect: Effect, version| effect.content_hash(&key(version)).unwrap();
        assert_eq!(hash(effect("1.0", "a"), 1), hash(effect("1.000", "a"), 1));
        assert_ne!(hash(effect("1.0", "a"), 1), hash(effect("1.1", "a"), 1));
        assert_ne!(hash(effect("1.0", "a"), 1), hash(effect("1.0", "b"), 1));
        assert_ne!(hash(effect("1.0", "a"), 1), hash(effect("1.0", "a"), 2));
    }

    #[test]
    fn every_entry_type_moves_between_two_accounts() {
        for entry_type in EntryType::ALL {
            let (debit, credit) = entry_type.accounts();
            assert_ne!(debit, credit, "{entry_type}");
        }
    }
}
