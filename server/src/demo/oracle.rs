//! What each job should have come to, worked out from its plan alone.
//!
//! The oracle knows the price list and the tenants' policies and nothing of what the product did, in
//! which order, or how often it was told. It shares the arithmetic of one rating with the product and
//! none of its decisions.

use domain::{
    decide::{LateCancel, Overage, Partial},
    job::State,
    money::{Amount, AmountError},
    price::{Price, UnknownMeters},
    usage::{Estimated, Usage, Validated},
};

use super::{
    cast::{self, MODELS, TENANTS},
    plan::{Plan, Quantities, Story},
};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How a submission should be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// There is a job.
    Accepted,
    /// Funds are short and nothing is written.
    PaymentRequired,
}

/// What a job should come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Expected {
    /// How its submission is answered.
    pub(super) answer: Answer,
    /// Its last state.
    pub(super) state: State,
    /// Its net charge.
    pub(super) charged: Amount,
    /// What it still holds.
    pub(super) held: Amount,
}

/// Works out one job. `answered` says that somebody asked how it ended, where nobody is told.
///
/// # Errors
/// When the demo's own tables cannot be priced, which its tests exclude.
pub(super) fn expect(plan: &Plan, answered: bool) -> Result<Expected, Failure> {
    let wallet = &cast::WALLETS[plan.wallet];
    let tenant = &TENANTS[wallet.tenant];
    let price = MODELS[plan.model].price(wallet.currency)?;
    let quote = quote(plan, &price)?;
    let nothing = Amount::zero(quote.currency());
    let refused = if tenant.refund_on_failure {
        nothing
    } else {
        quote
    };
    let (state, charged) = match plan.story {
        Story::Unaffordable => {
            return Ok(Expected {
                answer: Answer::PaymentRequired,
                state: State::Blocked,
                charged: nothing,
                held: nothing,
            });
        }
        Story::Blocked => (State::Blocked, nothing),
        Story::NeverTold if !answered => {
            return Ok(Expected {
                answer: Answer::Accepted,
                state: State::Running,
                charged: nothing,
                held: quote,
            });
        }
        Story::CancelledBeforeDispatch => (State::Cancelled, nothing),
        Story::CancelHonoured => (State::Cancelled, refused),
        Story::CancelTooLate if tenant.policy.late_cancel == LateCancel::Release => {
            (State::Cancelled, refused)
        }
        Story::Fails => (State::Failed, refused),
        Story::SucceedsInPart if tenant.policy.partial == Partial::Release => {
            (State::Failed, refused)
        }
        Story::Succeeds
        | Story::SucceedsInPart
        | Story::FailsThenSucceeds
        | Story::CompletesTwice
        | Story::IsCorrected
        | Story::CancelTooLate
        | Story::NeverTold => {
            let used = plan
                .prevailing_usage()
                .or_else(|| plan.untold.as_ref()?.usage.as_ref())
                .ok_or("a completion without usage")?;
            let rated = price
                .rate(&read::<Validated>(used)?, UnknownMeters::Refuse)?
                .amount()?;
            (
                State::Completed,
                charge(rated, quote, tenant.policy.overage)?,
            )
        }
    };
    Ok(Expected {
        answer: Answer::Accepted,
        state,
        charged,
        held: nothing,
    })
}

/// What is reserved at submission.
pub(super) fn quote(plan: &Plan, price: &Price) -> Result<Amount, Failure> {
    let estimate = match &plan.estimate {
        Some(quantities) => read::<Estimated>(quantities)?,
        None => price.terms.estimate.clone(),
    };
    Ok(price.rate(&estimate, UnknownMeters::Refuse)?.amount()?)
}

/// Wallets of the demo are never short, so everything above the hold is charged or owed, unless capped.
fn charge(rated: Amount, quote: Amount, overage: Overage) -> Result<Amount, AmountError> {
    match overage {
        Overage::Cap => rated.min(quote),
        Overage::Charge | Overage::Receivable => Ok(rated),
    }
}

fn read<Kind>(quantities: &Quantities) -> Result<Usage<Kind>, Failure> {
    Ok(Usage::parse(
        quantities
            .iter()
            .map(|(meter, quantity)| (*meter, quantity.as_str())),
    )?)
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;
    use crate::demo::plan::tests::default_rates;

    #[test]
    fn every_plan_can_be_worked_out() {
        for index in 0..3000 {
            let plan = Plan::draw(2, index, &default_rates());
            let expected = expect(&plan, false).unwrap();
            let nothing = expected.charged.is_zero();
            match plan.story {
                Story::NeverTold => {
                    assert!(nothing);
                    let asked = expect(&plan, true).unwrap();
                    assert_eq!(asked.state, State::Completed);
                    assert!(asked.charged.is_positive() && asked.held.is_zero());
                }
                Story::CancelledBeforeDispatch | Story::Blocked | Story::Unaffordable => {
                    assert!(nothing)
                }
                Story::Succeeds | Story::CompletesTwice | Story::IsCorrected => assert!(!nothing),
                _ => {}
            }
        }
    }

    #[test]
    fn refused_submissions_are_refused_for_their_own_reason_only() {
        let funds = |wallet: usize| -> Decimal {
            cast::WALLETS[wallet]
                .grants
                .iter()
                .map(|grant| grant.amount.parse::<Decimal>().unwrap())
                .sum()
        };
        let mut spent = [Decimal::ZERO; 6];
        for index in 0..5000 {
            let plan = Plan::draw(4, index, &default_rates());
            let wallet = &cast::WALLETS[plan.wallet];
            let quote = quote(&plan, &MODELS[plan.model].price(wallet.currency).unwrap())
                .unwrap()
                .value();
            let limit = TENANTS[wallet.tenant]
                .max_quote
                .map(|limit| limit.parse::<Decimal>().unwrap());
            match plan.story {
                Story::Unaffordable => assert!(quote > funds(plan.wallet)),
                Story::Blocked => assert!(quote > limit.unwrap() && quote < funds(plan.wallet)),
                _ => {
                    assert!(limit.is_none_or(|limit| quote <= limit), "{plan:?}");
                    spent[plan.wallet] += quote.max(expect(&plan, true).unwrap().charged.value());
                }
            }
        }
        assert!(
            (0..6).all(|wallet| spent[wallet] * Decimal::TEN < funds(wallet)),
            "{spent:?}"
        );
    }
}
