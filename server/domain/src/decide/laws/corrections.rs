//! What people correct and what providers correct keep out of each other's way.

use super::*;
use crate::job::SettlementState;

impl Books {
    fn correct(&mut self, correction: Correct) -> Result<(), Obstacle> {
        let spendable = usd(self.balance(AccountKind::Available));
        let change = correct(&self.job, correction, spendable).unwrap()?;
        assert!(change.job.state == self.job.state || self.job.state.may_become(change.job.state));
        self.post(change.effects);
        self.job = change.job;
        self.check();
        Ok(())
    }
}

fn policy(overage: Overage) -> Policy {
    Policy {
        overage,
        late_cancel: LateCancel::Capture,
        partial: Partial::Bill,
    }
}

/// A job that completed with `used` of the 10 it reserved, in a wallet of `funds`.
fn completed(overage: Overage, used: i64, funds: i64) -> Books {
    let mut books = Books::open(policy(overage), true, 10, funds);
    books.hear(&success(used, 1));
    books
}

/// A step after the completion: the provider's or a person's.
#[derive(Clone, Debug)]
enum Step {
    Hear(Fact),
    Adjust(i64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Never so little that what people give back comes up against zero: then order is their choice.
        (10i64..20, 2i32..5).prop_map(|(used, revision)| Step::Hear(correction(used, revision, 2))),
        (-3i64..4).prop_map(Step::Adjust),
    ]
}

proptest! {
    #[test]
    fn adjustments_and_corrected_usage_commute(
        steps in prop::collection::vec(any_step(), 1..4),
        overage in prop::sample::select(Overage::ALL),
    ) {
        let mut straight = completed(overage, 12, 1000);
        let mut backwards = straight.clone();
        for (books, steps) in [
            (&mut straight, steps.clone()),
            (&mut backwards, steps.into_iter().rev().collect()),
        ] {
            for step in steps {
                match step {
                    Step::Hear(fact) => { books.hear(&fact); }
                    Step::Adjust(by) => books.correct(Correct::Adjust(usd(by))).unwrap(),
                }
                books.check();
            }
        }
        prop_assert_eq!(straight.job.captured, backwards.job.captured);
        prop_assert_eq!(straight.job.due, backwards.job.due);
    }

    #[test]
    fn undoing_leads_back(by in -8i64..20, used in 8i64..15, overage in prop::sample::select(Overage::ALL)) {
        let mut books = completed(overage, used, 1000);
        let before = books.job.captured;
        books.correct(Correct::Adjust(usd(by))).unwrap();
        prop_assert_eq!(books.job.captured, before.plus(usd(by)).unwrap());
        books.correct(Correct::UndoAdjust(usd(by))).unwrap();
        prop_assert_eq!(books.job.captured, before);
        books.correct(Correct::Reverse).unwrap();
        prop_assert!(books.job.captured.is_zero());
        prop_assert_eq!(books.job.settlement_state(), SettlementState::Reversed);
        books.correct(Correct::UndoReverse).unwrap();
        prop_assert_eq!(books.job.captured, before);
    }
}

#[test]
fn an_adjustment_outlives_corrected_usage() {
    let mut books = completed(Overage::Charge, 8, 100);
    books.correct(Correct::Adjust(usd(-3))).unwrap();
    assert_eq!(books.job.captured, usd(5));
    books.hear(&correction(12, 2, 2));
    assert_eq!(books.job.captured, usd(9));
    books.hear(&correction(2, 3, 3));
    assert_eq!(books.job.captured, usd(0));
    books.hear(&correction(8, 4, 4));
    assert_eq!(books.job.captured, usd(5));
    books.check();
}

#[test]
fn a_reversed_charge_stays_reversed_until_that_is_undone() {
    let mut books = completed(Overage::Charge, 8, 100);
    books.correct(Correct::Reverse).unwrap();
    books.hear(&correction(12, 2, 2));
    assert_eq!(
        (books.job.captured, books.balance(AccountKind::Available)),
        (usd(0), 100.into())
    );
    assert_eq!(books.correct(Correct::Reverse), Err(Obstacle::Reversed));
    assert_eq!(
        books.correct(Correct::Adjust(usd(1))),
        Err(Obstacle::Reversed)
    );
    books.correct(Correct::UndoReverse).unwrap();
    assert_eq!(books.job.captured, usd(12));
    assert_eq!(
        books.correct(Correct::UndoReverse),
        Err(Obstacle::NotReversed)
    );
}

#[test]
fn what_is_owed_shrinks_before_the_wallet_is_credited() {
    let mut books = completed(Overage::Receivable, 14, 10);
    assert_eq!(books.job.receivable, usd(4));
    books.correct(Correct::Adjust(usd(-3))).unwrap();
    assert_eq!(
        (books.job.receivable, books.balance(AccountKind::Available)),
        (usd(1), 0.into())
    );
    books.correct(Correct::Adjust(usd(-3))).unwrap();
    assert_eq!(
        (books.job.receivable, books.balance(AccountKind::Available)),
        (usd(0), 2.into())
    );
}

#[test]
fn no_more_is_given_back_than_was_charged_nor_taken_than_there_is() {
    let mut books = completed(Overage::Cap, 8, 10);
    assert_eq!(
        books.correct(Correct::Adjust(usd(-9))),
        Err(Obstacle::MoreThanCharged(usd(8)))
    );
    assert_eq!(
        books.correct(Correct::Adjust(usd(3))),
        Err(Obstacle::Short(usd(2)))
    );
    books.correct(Correct::Adjust(usd(2))).unwrap();
    assert_eq!(books.job.captured, usd(10));
}

#[test]
fn a_hold_without_a_verdict_can_be_given_up_and_success_still_has_authority() {
    let mut books = Books::open(policy(Overage::Cap), true, 10, 10);
    assert_eq!(books.correct(Correct::Reverse), Err(Obstacle::NotCharged));
    books.correct(Correct::Release).unwrap();
    assert_eq!(books.net(), [(AccountKind::Available, 10.into())]);
    assert_eq!(
        books.correct(Correct::Release),
        Err(Obstacle::NoHold(State::Cancelled))
    );
    books.hear(&success(4, 1));
    assert_eq!(
        (books.job.state, books.job.captured),
        (State::Completed, usd(4))
    );
    books.check();
}
