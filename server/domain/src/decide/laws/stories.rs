//! Single lives of a job, told on the books of the laws.

use super::*;

#[test]
fn an_unrefundable_failure_is_charged_and_success_corrects_it() {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Capture,
        partial: Partial::Bill,
    };
    let mut books = Books::open(policy, false, 10, 10);
    books.hear(&fact(
        Verdict::Failed {
            reason: "oom".into(),
        },
        1,
    ));
    assert_eq!(books.net(), [(AccountKind::Revenue, 10.into())]);
    books.hear(&success(4, 2));
    assert_eq!(
        books.net(),
        [
            (AccountKind::Available, 6.into()),
            (AccountKind::Revenue, 4.into())
        ]
    );
    assert_eq!(books.job.state, State::Completed);
    books.check();
}

#[test]
fn cancelling_releases_at_once_only_what_was_never_dispatched() {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Release,
        partial: Partial::Bill,
    };
    let now = DateTime::UNIX_EPOCH + TimeDelta::minutes(3);
    let mut books = Books::open(policy, true, 10, 10);
    let Cancellation::Requested(job) = request_cancel(&books.job, now) else {
        panic!("it was dispatched")
    };
    assert_eq!((job.state, job.held), (State::Pending, usd(10)));
    assert_eq!(request_cancel(&job, now), Cancellation::AlreadyRequested);
    books.job.dispatched = false;
    let Cancellation::Released(change) = request_cancel(&books.job, now) else {
        panic!("it was not dispatched")
    };
    books.post(change.effects.clone());
    books.job = change.job.clone();
    books.check();
    assert_eq!(books.net(), [(AccountKind::Available, 10.into())]);
    assert_eq!(
        request_cancel(&books.job, now),
        Cancellation::AlreadyCancelled
    );
    // What was done before the request was accepted is charged; what came after is not.
    let after = success(2, 4);
    assert_eq!(
        books.hear(&after),
        Decision::Ignore(IgnoreReason::CancelPrevails)
    );
    let before = success(2, 2);
    assert!(matches!(books.hear(&before), Decision::Apply(_)));
    assert_eq!(
        books.net(),
        [
            (AccountKind::Available, 8.into()),
            (AccountKind::Revenue, 2.into())
        ]
    );
}

#[test]
fn output_that_is_required_holds_completion_back_but_not_the_charge() {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Capture,
        partial: Partial::Bill,
    };
    let mut books = Books::open(policy, true, 10, 10);
    books.job.output_required = true;
    books.hear(&success(4, 2));
    assert_eq!(
        (books.job.state, books.job.captured),
        (State::Delivering, usd(4))
    );
    assert_eq!(store_output(&books.job).state, State::Completed);
}

#[test]
fn a_correction_after_a_cancel_request_corrects_what_was_done_before_it() {
    for late_cancel in LateCancel::ALL {
        let policy = Policy {
            overage: Overage::Charge,
            late_cancel: *late_cancel,
            partial: Partial::Bill,
        };
        let mut books = Books::open(policy, true, 10, 20);
        books.job.cancel_requested_at = Some(DateTime::UNIX_EPOCH + TimeDelta::minutes(3));
        books.hear(&success(8, 2));
        books.hear(&correction(5, 2, 4));
        assert_eq!(books.job.captured, usd(5), "{late_cancel}");
        books.check();
    }
}

#[test]
fn a_correction_alone_charges_nobody() {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Release,
        partial: Partial::Release,
    };
    let failed = fact(
        Verdict::Failed {
            reason: "oom".into(),
        },
        1,
    );
    let in_part = fact(
        Verdict::Succeeded {
            usage: images(4),
            partial: true,
        },
        1,
    );
    // Also where a failure is charged: there is a charge, and still no usage to correct.
    let verdicts = [None, Some(failed), Some(in_part)];
    for (verdict, refund) in verdicts.iter().flat_map(|one| [(one, true), (one, false)]) {
        let mut books = Books::open(policy, refund, 10, 10);
        if let Some(verdict) = verdict {
            books.hear(verdict);
        }
        let before = books.clone();
        assert_eq!(
            books.hear(&correction(4, 2, 2)),
            Decision::Wait(WaitReason::Completion),
            "{verdict:?}, refundable: {refund}"
        );
        assert_eq!((books.net(), books.job), (before.net(), before.job));
    }
}

#[test]
fn a_correction_waits_for_its_completion_and_then_prevails() {
    let policy = Policy {
        overage: Overage::Cap,
        late_cancel: LateCancel::Capture,
        partial: Partial::Bill,
    };
    let mut books = Books::open(policy, true, 10, 10);
    books.hear(&correction(4, 2, 2));
    assert_eq!(books.job.captured, usd(0));
    books.hear(&success(8, 1));
    assert_eq!(books.job.captured, usd(4));
    books.check();
}
