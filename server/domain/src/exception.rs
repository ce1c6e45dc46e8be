//! Exceptions: what reconciliation found wrong, one for each thing that is wrong, until it is right.
//!
//! A class is the name of a truth about the books; an exception says where it does not hold.

use chrono::TimeDelta;

use crate::code::code;

code!(
    /// What must be true, and is not.
    Class {
        /// Of an account.
        Balance = "balance_is_the_sum_of_its_transfers",
        /// Of all accounts of a tenant, currency and mode.
        TrialBalance = "trial_balance_is_zero",
        /// Of a transfer.
        ModeAndWallet = "transfers_stay_within_a_mode_and_wallet",
        /// Of a wallet account.
        RunningBalances = "running_balances_form_a_chain",
        /// Of a subject's phase.
        Versions = "versions_have_no_gaps",
        /// Of a settlement.
        Transfers = "an_amount_has_transfers",
        /// Of a settlement.
        SettlementEvent = "a_settlement_has_its_event",
        /// Of a lot.
        Grant = "a_grant_is_its_lot",
        /// Of a job.
        HoldEnd = "a_hold_ends_once",
        /// Of a job.
        JobVersions = "a_job_knows_its_settlements",
        /// Of a job.
        JobCharge = "a_job_is_what_its_transfers_moved",
        /// Of a job.
        JobHold = "a_finished_job_holds_nothing",
        /// Of a wallet.
        Holds = "held_is_the_sum_of_the_jobs",
        /// Of a job.
        JobSteps = "a_job_took_its_steps",
        /// Of a job.
        JobCorrections = "a_job_is_corrected_as_noted",
        /// Of a lot.
        LotDraws = "a_lot_is_what_its_draws_left",
        /// Of a wallet.
        Lots = "available_is_the_sum_of_the_lots",
        /// Of a settlement.
        Price = "a_price_is_as_it_was_frozen",
        /// Of a settlement.
        Content = "content_hash",
        /// Of the audit log.
        Audit = "audit_chain",
        /// Of a seal.
        Seals = "seals_hold",
        /// Of an event.
        EventOutcome = "an_event_gets_its_outcome",
        /// Of a reference and a meter in a provider's statement.
        StatedUsage = "usage_is_as_the_provider_says",
    }
);

code!(
    /// What can be put right from here, without changing history.
    Repair {
        /// The balance of an account is written anew from its transfers.
        RebuildBalance = "rebuild_balance",
        /// What remains of a lot is written anew from its draws.
        RebuildLot = "rebuild_lot",
        /// The event is looked at again now, under its own identity.
        Redrive = "redrive",
    }
);

code!(
    /// Where an exception stands.
    State {
        /// It is wrong still.
        Open = "open",
        /// The last run found it right.
        Closed = "closed",
    }
);

code!(
    /// Who wanted a run.
    Cause {
        /// The scheduler.
        Scheduled = "scheduled",
        /// An operator.
        OnDemand = "on_demand",
        /// The command line.
        CommandLine = "command_line",
    }
);

code!(
    /// How much a run looks at.
    Reach {
        /// Everything, from the first row.
        Full = "full",
        /// What was written since the run before.
        Incremental = "incremental",
    }
);

code!(
    /// What came of a run.
    Outcome {
        /// It goes on.
        Running = "running",
        /// Everything holds.
        InOrder = "in_order",
        /// Something does not.
        Exceptions = "exceptions",
        /// It could not be finished.
        Failed = "failed",
        /// Its process died.
        Abandoned = "abandoned",
    }
);

code!(
    /// What was done about an exception.
    What {
        /// A run found it.
        Opened = "opened",
        /// A run found it again after it was right.
        Reopened = "reopened",
        /// A run did not find it any more.
        Closed = "closed",
        /// Someone took it.
        Assigned = "assigned",
        /// Someone gave it back.
        Unassigned = "unassigned",
        /// It asks for nobody's attention for a while.
        Snoozed = "snoozed",
        /// Someone wrote down what they saw.
        Noted = "noted",
        /// Something was put right.
        Repaired = "repaired",
        /// Someone accepted the difference.
        Accepted = "accepted",
    }
);

impl Class {
    /// What can be put right from here, if anything can.
    pub fn repair(self) -> Option<Repair> {
        match self {
            Self::Balance => Some(Repair::RebuildBalance),
            Self::LotDraws => Some(Repair::RebuildLot),
            Self::EventOutcome => Some(Repair::Redrive),
            Self::TrialBalance
            | Self::ModeAndWallet
            | Self::RunningBalances
            | Self::Versions
            | Self::Transfers
            | Self::SettlementEvent
            | Self::Grant
            | Self::HoldEnd
            | Self::JobVersions
            | Self::JobCharge
            | Self::JobHold
            | Self::Holds
            | Self::JobSteps
            | Self::JobCorrections
            | Self::Lots
            | Self::Price
            | Self::Content
            | Self::Audit
            | Self::Seals
            | Self::StatedUsage => None,
        }
    }

    /// Whether a person may accept the difference: to what somebody else says, never within our own books.
    pub fn may_be_accepted(self) -> bool {
        self == Self::StatedUsage
    }

    /// Whether a run of this reach looks everywhere for it. An incremental run reads all balances and all
    /// events that are due, and of everything else what is new.
    pub fn is_looked_for_everywhere(self, reach: Reach) -> bool {
        reach == Reach::Full || matches!(self, Self::TrialBalance | Self::EventOutcome)
    }

    /// Whether it may be no more than something that is still on its way.
    pub fn is_timing(self) -> bool {
        self == Self::EventOutcome
    }

    /// By when someone should have looked at it: money that is wrong before what is only late.
    pub fn due(self) -> TimeDelta {
        if self.is_timing() {
            TimeDelta::hours(24)
        } else {
            TimeDelta::hours(4)
        }
    }
}

/// A full run is due when the last one began this long ago.
pub const FULL_EVERY: TimeDelta = TimeDelta::hours(24);

/// How far the scheduler's next run reaches: everything once a day, and when that is asked for: for as long
/// as something is wrong, because only who looks everywhere can say that it is right again, and when a
/// statement has come in. `since_full` is the age of the last full run, if there was one.
pub fn reach(since_full: Option<TimeDelta>, full_is_asked_for: bool) -> Reach {
    match since_full {
        Some(age) if age < FULL_EVERY && !full_is_asked_for => Reach::Incremental,
        Some(_) | None => Reach::Full,
    }
}

/// What a run does about one exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Found for the first time.
    Open,
    /// Found again: it ages.
    Age,
    /// Found again after it was right.
    Reopen,
    /// Not found any more.
    Close,
}

/// What a run does about an exception that stands as `known`, given whether it was found. A run that did
/// not look everywhere closes nothing: `looked_everywhere` is about the exception's class.
pub fn step(known: Option<State>, is_found: bool, looked_everywhere: bool) -> Option<Step> {
    match (known, is_found) {
        (None, true) => Some(Step::Open),
        (Some(State::Open), true) => Some(Step::Age),
        (Some(State::Closed), true) => Some(Step::Reopen),
        (Some(State::Open), false) if looked_everywhere => Some(Step::Close),
        (Some(State::Open | State::Closed) | None, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_lives_as_long_as_it_is_found() {
        assert_eq!(step(None, true, true), Some(Step::Open));
        assert_eq!(step(Some(State::Open), true, true), Some(Step::Age));
        assert_eq!(step(Some(State::Open), false, true), Some(Step::Close));
        assert_eq!(step(Some(State::Closed), false, true), None);
        assert_eq!(step(Some(State::Closed), true, true), Some(Step::Reopen));
        assert_eq!(step(None, false, true), None);
    }

    #[test]
    fn a_full_run_is_due_daily_and_while_something_is_wrong() {
        let (fresh, old) = (TimeDelta::hours(23), TimeDelta::hours(24));
        assert_eq!(reach(Some(fresh), false), Reach::Incremental);
        assert_eq!(reach(Some(fresh), true), Reach::Full);
        assert_eq!(reach(Some(old), false), Reach::Full);
        assert_eq!(reach(None, false), Reach::Full);
    }

    #[test]
    fn what_was_not_looked_for_is_not_gone() {
        assert_eq!(step(Some(State::Open), false, false), None);
    }
}
