//! Jobs: the lifecycle, the money position, and what people read off both.

mod correction;

use chrono::{DateTime, Utc};

pub use self::correction::Correction;
use crate::{canonical::Hash, code::code, money::Amount};

code!(
    /// Lifecycle of a job.
    State {
        /// Accepted, not known to run.
        Pending = "pending",
        /// The provider works on it.
        Running = "running",
        /// Upstream success; the required output is not stored yet.
        Delivering = "delivering",
        /// Done.
        Completed = "completed",
        /// The provider gave up.
        Failed = "failed",
        /// Stopped before it was done.
        Cancelled = "cancelled",
        /// Refused by local policy; nothing was reserved.
        Blocked = "blocked",
    }
);

impl State {
    /// The whole transition table; the database has the same one. A terminal state never moves back;
    /// success alone has authority over an earlier verdict of failure or cancellation.
    pub fn may_become(self, next: Self) -> bool {
        use State::{Blocked, Cancelled, Completed, Delivering, Failed, Pending, Running};
        match self {
            Pending => matches!(next, Running | Delivering | Completed | Failed | Cancelled),
            Running => matches!(next, Delivering | Completed | Failed | Cancelled),
            Delivering => matches!(next, Completed),
            Failed | Cancelled => matches!(next, Delivering | Completed),
            Completed | Blocked => false,
        }
    }

    /// Whether no further step is expected.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Blocked
        )
    }

    /// Whether the provider has not given a verdict yet.
    pub fn in_flight(self) -> bool {
        matches!(self, Self::Pending | Self::Running)
    }
}

code!(
    /// What the settlements of a job amount to.
    SettlementState {
        /// Nothing was ever reserved.
        None = "none",
        /// Funds are on hold.
        Reserved = "reserved",
        /// Charged.
        Captured = "captured",
        /// The hold went back.
        Released = "released",
        /// Charged and corrected since.
        Adjusted = "adjusted",
        /// The charge was undone.
        Reversed = "reversed",
    }
);

/// Versions of the newest settlement of each phase; 0 before the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Versions {
    /// Reserve.
    pub reserve: i32,
    /// Capture.
    pub capture: i32,
    /// Release.
    pub release: i32,
    /// Adjustment.
    pub adjustment: i32,
    /// Reversal.
    pub reversal: i32,
}

/// Which usage is billed now. Later facts are compared with it, so that the outcome does not depend
/// on the order in which they arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Billed {
    /// Revision of the usage: 1 for a completion, more for a correction of it, and
    /// [`Billed::WITHOUT_USAGE`].
    pub revision: i32,
    /// When it occurred, by the provider's clock.
    pub occurred_at: DateTime<Utc>,
    /// Hash of the usage.
    pub hash: Hash,
}

impl Billed {
    /// The revision of a charge for a failure that was not refundable.
    pub const WITHOUT_USAGE: i32 = 0;

    /// Whether this usage takes precedence: the higher revision, then what occurred first, then the
    /// smaller hash. A total order, so any permutation of facts ends with the same usage billed.
    pub fn outranks(&self, other: &Self) -> bool {
        let rank = |billed: &Self| {
            (
                std::cmp::Reverse(billed.revision),
                billed.occurred_at,
                billed.hash,
            )
        };
        rank(self) < rank(other)
    }
}

/// A job as decisions see it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Lifecycle state.
    pub state: State,
    /// Why it is in that state, for people.
    pub state_reason: Option<String>,
    /// What the first hold reserved.
    pub quote: Amount,
    /// Still on hold.
    pub held: Amount,
    /// What the billed usage comes to by the tenant's policy, before anyone corrects it.
    pub due: Amount,
    /// What people have changed about it.
    pub correction: Correction,
    /// Net charged, receivable included: what is due, corrected.
    pub captured: Amount,
    /// The part of `captured` that the tenant still owes.
    pub receivable: Amount,
    /// Newest settlements.
    pub versions: Versions,
    /// Usage billed now.
    pub billed: Option<Billed>,
    /// Refund eligibility frozen at submission.
    pub refund_on_failure: bool,
    /// Whether completion waits for a stored output.
    pub output_required: bool,
    /// Whether that output is stored.
    pub output_stored: bool,
    /// When the customer's cancel request was accepted.
    pub cancel_requested_at: Option<DateTime<Utc>>,
    /// Whether the work was handed to a provider.
    pub dispatched: bool,
}

impl Job {
    /// What its settlements amount to.
    pub fn settlement_state(&self) -> SettlementState {
        if self.held.is_positive() {
            SettlementState::Reserved
        } else if self.correction.reversed {
            SettlementState::Reversed
        } else if self.versions.adjustment + self.versions.reversal > 0 {
            SettlementState::Adjusted
        } else if self.versions.capture > 0 {
            SettlementState::Captured
        } else if self.versions.release > 0 {
            SettlementState::Released
        } else if self.versions.reserve > 0 {
            SettlementState::Reserved
        } else {
            SettlementState::None
        }
    }

    /// Whether a completion was heard and charged: only then is there usage to correct.
    pub fn has_completed(&self) -> bool {
        self.billed
            .is_some_and(|billed| billed.revision > Billed::WITHOUT_USAGE)
    }

    /// State after upstream success.
    pub fn after_success(&self) -> State {
        if self.output_required && !self.output_stored {
            State::Delivering
        } else {
            State::Completed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_transition_table() {
        let mut table = String::new();
        for from in State::ALL {
            let next: Vec<_> = State::ALL
                .iter()
                .filter(|to| from.may_become(**to))
                .map(|to| to.as_str())
                .collect();
            table.push_str(format!("{from}: {}", next.join(" ")).trim_end());
            table.push(char::from(10));
        }
        insta::assert_snapshot!(table, @r"
        pending: running delivering completed failed cancelled
        running: delivering completed failed cancelled
        delivering: completed
        completed:
        failed: delivering completed
        cancelled: delivering completed
        blocked:
        ");
    }
}
