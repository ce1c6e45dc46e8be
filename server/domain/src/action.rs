//! What an operator may do: keyed requests, who has to agree, and how they end.

mod confirm;
mod request;
mod subject;

pub use self::{
    confirm::{Onward, is_confirmation, tail},
    request::{Request, Typed, Wrong, reason},
    subject::{Subject, Target},
};
use rust_decimal::Decimal;

use crate::{code::code, id::OperatorId, money::Amount};

code!(
    /// What is to be done.
    Kind {
        /// Credit that nobody paid for.
        Goodwill = "goodwill",
        /// Stop spending from a wallet, or the billing of a tenant or a source.
        Freeze = "freeze",
        /// Let it go on.
        Unfreeze = "unfreeze",
        /// Charge more for a job.
        Charge = "charge",
        /// Give back part of what a job was charged.
        Credit = "credit",
        /// Take the whole charge of a job back.
        Reverse = "reverse",
        /// Take back one earlier correction of a job.
        Undo = "undo",
        /// Give back the hold of a job whose verdict never came.
        Release = "release",
    }
);

impl Kind {
    /// Whether it is about a job; the others are about a wallet, or what [`Target`] names, as a whole.
    pub fn is_of_job(self) -> bool {
        match self {
            Self::Charge | Self::Credit | Self::Reverse | Self::Undo | Self::Release => true,
            Self::Goodwill | Self::Freeze | Self::Unfreeze => false,
        }
    }

    /// Whether whoever asks for it says how much.
    pub fn takes_amount(self) -> bool {
        match self {
            Self::Goodwill | Self::Charge | Self::Credit => true,
            Self::Freeze | Self::Unfreeze | Self::Reverse | Self::Undo | Self::Release => false,
        }
    }

    /// Whether small amounts of it may go without a second person.
    pub fn has_threshold(self) -> bool {
        match self {
            Self::Goodwill | Self::Charge | Self::Credit | Self::Reverse | Self::Undo => true,
            Self::Freeze | Self::Unfreeze | Self::Release => false,
        }
    }

    /// Whether a second person has to agree to moving `moved`. `above` is the threshold in force;
    /// without one every amount asks for approval. Stopping is never delayed; lifting a stop, and
    /// giving up on a verdict, always takes two.
    pub fn needs_approval(self, moved: Option<Amount>, above: Option<Decimal>) -> bool {
        match self {
            Self::Freeze => false,
            Self::Unfreeze | Self::Release => true,
            Self::Goodwill | Self::Charge | Self::Credit | Self::Reverse | Self::Undo => moved
                .zip(above)
                .is_none_or(|(moved, above)| moved.value() > above),
        }
    }
}

code!(
    /// Kind of reason, for counting.
    Category {
        /// Something of ours broke.
        Incident = "incident",
        /// The customer asked.
        Complaint = "complaint",
        /// A campaign or an agreement.
        Promotion = "promotion",
        /// Something looks wrong.
        Suspicion = "suspicion",
        /// What was wrong is settled.
        Resolved = "resolved",
        /// None of these; the text says.
        Other = "other",
    }
);

code!(
    /// How far an action has come.
    State {
        /// Proposed; its dry run is looked at.
        Draft = "draft",
        /// Committed by its maker; waits for a second person.
        Waiting = "waiting",
        /// In force.
        Done = "done",
        /// Taken back by its maker.
        Withdrawn = "withdrawn",
        /// A second person said no.
        Refused = "refused",
        /// Nobody decided in time.
        Expired = "expired",
    }
);

impl State {
    /// The whole life of an action; the trigger `actions_transition` restates it.
    pub fn may_become(self, next: Self) -> bool {
        use State::{Done, Draft, Expired, Refused, Waiting, Withdrawn};
        match self {
            Draft => matches!(next, Waiting | Done | Withdrawn | Expired),
            Waiting => matches!(next, Done | Withdrawn | Refused | Expired),
            Done | Withdrawn | Refused | Expired => false,
        }
    }

    /// Whether nothing can happen to it any more.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Draft | Self::Waiting)
    }
}

/// Why someone may not decide on a waiting action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotYours {
    /// The maker cannot be the checker.
    #[error("you made this request, so someone else has to approve or refuse it")]
    Own,
    /// Only the maker withdraws.
    #[error("only its maker can withdraw this request; you can refuse it")]
    NotOwn,
}

/// Whether `who` may approve or refuse what `maker` asked for.
///
/// # Errors
/// [`NotYours::Own`].
pub fn may_check(who: OperatorId, maker: OperatorId) -> Result<(), NotYours> {
    if who == maker {
        Err(NotYours::Own)
    } else {
        Ok(())
    }
}

/// Whether `who` may withdraw what `maker` asked for.
///
/// # Errors
/// [`NotYours::NotOwn`].
pub fn may_withdraw(who: OperatorId, maker: OperatorId) -> Result<(), NotYours> {
    if who == maker {
        Ok(())
    } else {
        Err(NotYours::NotOwn)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn an_ended_action_stays_as_it_ended() {
        for state in State::ALL {
            for next in State::ALL {
                assert!(
                    !(state.is_final() && state.may_become(*next)),
                    "{state} {next}"
                );
            }
        }
    }

    #[test]
    fn a_second_person_is_asked_above_the_threshold_and_without_one() {
        let moved = |text: &str| {
            Some(Amount::exact(text.parse().unwrap(), "EUR".parse().unwrap()).unwrap())
        };
        let above = Some(Decimal::from(50));
        for kind in Kind::ALL.iter().filter(|kind| kind.has_threshold()) {
            assert!(!kind.needs_approval(moved("50"), above), "{kind}");
            assert!(kind.needs_approval(moved("50.000001"), above), "{kind}");
            assert!(kind.needs_approval(moved("0.01"), None), "{kind}");
            assert!(kind.needs_approval(None, above), "{kind}");
        }
        assert!(!Kind::Freeze.needs_approval(None, None));
        assert!(Kind::Unfreeze.needs_approval(None, above));
        assert!(Kind::Release.needs_approval(moved("0.01"), above));
    }

    #[test]
    fn maker_and_checker_are_two() {
        let (maker, other) = (
            OperatorId(Uuid::from_u128(1)),
            OperatorId(Uuid::from_u128(2)),
        );
        assert_eq!(may_check(maker, maker), Err(NotYours::Own));
        assert_eq!(may_check(other, maker), Ok(()));
        assert_eq!(may_withdraw(other, maker), Err(NotYours::NotOwn));
        assert_eq!(may_withdraw(maker, maker), Ok(()));
    }
}
