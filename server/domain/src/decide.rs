//! The one decision: what a fact means for a job.
//!
//! A pure function of the job, the fact, the tenant's policy and the frozen price. For any set of facts,
//! any order, duplication and delay ends in the same net position per account: the usage that is billed
//! is the least in a total order ([`crate::job::Billed::outranks`]), and what was charged before is
//! corrected to it by differences.

mod cancel;
mod charge;
mod correct;
#[cfg(test)]
mod laws;
mod policy;

use serde_json::json;

use crate::{
    event::{IgnoreReason, RejectReason, WaitReason},
    fact::{Fact, Verdict},
    job::{Billed, Job, State},
    money::{Amount, AmountError},
    price::{Price, RatingError, Snapshot, UnknownMeters},
    settlement::{Effect, Entry, EntryType, Phase},
    usage::{Usage, Validated},
};

pub use cancel::{Cancellation, request_cancel};
use charge::Share;
pub use correct::{Correct, Obstacle, correct};
pub use policy::{LateCancel, Overage, Partial, Policy};

/// What is to be written when a fact changes a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The job afterwards.
    pub job: Job,
    /// Settlements to post, in order.
    pub effects: Vec<Effect>,
}

/// What a fact means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decision {
    /// Write this.
    Apply(Box<Change>),
    /// Nothing changes.
    Ignore(IgnoreReason),
    /// Ask again later.
    Wait(WaitReason),
    /// A person has to look at it.
    Reject(RejectReason),
}

/// Decides what a fact means for a job. `spendable` is what the wallet's unexpired lots cover now.
///
/// # Errors
/// [`AmountError`] only when sums leave the ledger's range or the wallet's currency is not the job's:
/// inconsistent storage, never a property of the fact.
pub fn decide(
    job: &Job,
    fact: &Fact,
    policy: Policy,
    price: &Price,
    spendable: Amount,
) -> Result<Decision, AmountError> {
    if job.state == State::Blocked {
        return Ok(Decision::Reject(RejectReason::JobBlocked));
    }
    match &fact.verdict {
        Verdict::Running => Ok(start(job)),
        Verdict::Failed { reason } => stop(job, fact, State::Failed, reason),
        Verdict::Cancelled { reason } => stop(job, fact, State::Cancelled, reason),
        Verdict::Succeeded { partial: true, .. } if policy.partial == Partial::Release => stop(
            job,
            fact,
            State::Failed,
            "completed in part, which the tenant's policy does not bill",
        ),
        Verdict::Succeeded { usage, .. } => {
            let came_too_late = policy.late_cancel == LateCancel::Release
                && job
                    .cancel_requested_at
                    .is_some_and(|at| fact.occurred_at > at);
            if came_too_late {
                return match job.state.in_flight() {
                    true => stop(
                        job,
                        fact,
                        State::Cancelled,
                        "finished after the customer had cancelled",
                    ),
                    false => Ok(Decision::Ignore(IgnoreReason::CancelPrevails)),
                };
            }
            match rate(price, usage) {
                Ok(snapshot) => succeed(job, billed(fact, 1), &snapshot, policy, spendable),
                Err(reason) => Ok(Decision::Reject(reason)),
            }
        }
        Verdict::Corrected { usage, revision } => match rate(price, usage) {
            Ok(_) if !job.has_completed() => Ok(Decision::Wait(WaitReason::Completion)),
            Ok(snapshot) => succeed(job, billed(fact, *revision), &snapshot, policy, spendable),
            Err(reason) => Ok(Decision::Reject(reason)),
        },
    }
}

fn rate(price: &Price, usage: &Usage<Validated>) -> Result<Snapshot, RejectReason> {
    price
        .rate(usage, UnknownMeters::Ignore)
        .map_err(|error| match error {
            RatingError::Amount(_) => RejectReason::AmountTooLarge,
            RatingError::NothingPriced | RatingError::UnknownMeter(_) => {
                RejectReason::UsageUnpriceable
            }
        })
}

/// What a fact alone says that a job is to be charged, by the tenant's policy and the frozen price, before
/// anyone corrects it; `None` when it says nothing about the charge.
///
/// # Errors
/// Why the fact cannot be used.
pub fn due_by(
    job: &Job,
    fact: &Fact,
    policy: Policy,
    price: &Price,
) -> Result<Option<Amount>, RejectReason> {
    let refused = || {
        if job.refund_on_failure {
            Amount::zero(job.quote.currency())
        } else {
            job.quote
        }
    };
    let usage = match &fact.verdict {
        Verdict::Running => return Ok(None),
        Verdict::Failed { .. } | Verdict::Cancelled { .. } => return Ok(Some(refused())),
        Verdict::Succeeded { partial: true, .. } if policy.partial == Partial::Release => {
            return Ok(Some(refused()));
        }
        Verdict::Succeeded { usage, .. } | Verdict::Corrected { usage, .. } => usage,
    };
    let too_large = |_| RejectReason::AmountTooLarge;
    let rated = rate(price, usage)?.amount().map_err(too_large)?;
    charge::due(rated, job.quote, policy.overage)
        .map(Some)
        .map_err(too_large)
}

fn billed(fact: &Fact, revision: i32) -> Billed {
    Billed {
        revision,
        occurred_at: fact.occurred_at,
        hash: fact.hash,
    }
}

fn start(job: &Job) -> Decision {
    match job.state {
        State::Pending => {
            let job = Job {
                state: State::Running,
                state_reason: None,
                dispatched: true,
                ..job.clone()
            };
            Decision::Apply(Box::new(Change {
                job,
                effects: Vec::new(),
            }))
        }
        State::Running
        | State::Delivering
        | State::Completed
        | State::Failed
        | State::Cancelled
        | State::Blocked => Decision::Ignore(IgnoreReason::AlreadyStarted),
    }
}

/// A final verdict without success: the hold goes back, or is charged when the job is not refundable.
fn stop(job: &Job, fact: &Fact, state: State, reason: &str) -> Result<Decision, AmountError> {
    match job.state {
        State::Pending | State::Running => {}
        State::Delivering | State::Completed => {
            return Ok(Decision::Ignore(IgnoreReason::SuccessPrevails));
        }
        State::Failed | State::Cancelled | State::Blocked => {
            return Ok(Decision::Ignore(IgnoreReason::AlreadyFinal));
        }
    }
    let mut next = Job {
        state,
        state_reason: Some(reason.to_owned()),
        dispatched: true,
        ..job.clone()
    };
    let effect = if job.refund_on_failure {
        release(
            &mut next,
            json!({ "verdict": state, "refund_on_failure": true }),
        )
    } else {
        next.billed = Some(billed(fact, Billed::WITHOUT_USAGE));
        next.due = job.held;
        next.captured = job.held;
        next.versions.capture += 1;
        let snapshot = json!({ "verdict": state, "refund_on_failure": false });
        effect(
            Phase::Capture,
            next.versions.capture,
            job.held,
            [(EntryType::Capture, job.held)],
            snapshot,
        )
    };
    next.held = Amount::zero(job.held.currency());
    Ok(Decision::Apply(Box::new(Change {
        job: next,
        effects: vec![effect],
    })))
}

/// The whole hold goes back to the wallet.
fn release(job: &mut Job, snapshot: serde_json::Value) -> Effect {
    let held = std::mem::replace(&mut job.held, Amount::zero(job.quote.currency()));
    job.versions.release += 1;
    effect(
        Phase::Release,
        job.versions.release,
        held,
        [(EntryType::Release, held)],
        snapshot,
    )
}

/// Success: capture the first time, reserve and capture again after a verdict of failure, and correct
/// by a difference when other usage takes precedence over what was billed.
fn succeed(
    job: &Job,
    billed: Billed,
    snapshot: &Snapshot,
    policy: Policy,
    spendable: Amount,
) -> Result<Decision, AmountError> {
    let rated = snapshot.amount()?;
    let mut next = Job {
        billed: Some(billed),
        due: charge::due(rated, job.quote, policy.overage)?,
        state_reason: None,
        dispatched: true,
        ..job.clone()
    };
    if let Some(current) = &job.billed {
        if current.hash == billed.hash {
            return Ok(Decision::Ignore(IgnoreReason::AlreadySettled));
        }
        if !billed.outranks(current) {
            return Ok(Decision::Ignore(IgnoreReason::OtherCompletionPrevails));
        }
        if matches!(job.state, State::Failed | State::Cancelled) {
            next.state = job.after_success();
        } else {
            next.state_reason.clone_from(&job.state_reason);
        }
        let paid = job.captured.minus(job.receivable)?;
        let payable = spendable.plus(paid)?;
        let Some(target) = Share::of(job, next.due, policy.overage, payable)? else {
            return Ok(Decision::Wait(WaitReason::Funds));
        };
        let effect = charge::adjust(&mut next, target, snapshot)?;
        return Ok(Decision::Apply(Box::new(Change {
            job: next,
            effects: vec![effect],
        })));
    }
    next.state = job.after_success();
    let mut effects = Vec::with_capacity(2);
    let mut spendable = spendable;
    if !job.state.in_flight() {
        // The hold went back when the verdict was failure; success takes it again, at what is due.
        let again = rated.min(job.quote)?;
        if spendable.value() < again.value() {
            return Ok(Decision::Wait(WaitReason::Funds));
        }
        spendable = spendable.minus(again)?;
        next.held = again;
        next.versions.reserve += 1;
        let reason =
            json!({ "reason": "success after a verdict of failure", "overruled": job.state });
        effects.push(effect(
            Phase::Reserve,
            next.versions.reserve,
            again,
            [(EntryType::Hold, again)],
            reason,
        ));
    }
    let payable = next.held.plus(spendable)?;
    let Some(share) = Share::of(job, next.due, policy.overage, payable)? else {
        return Ok(Decision::Wait(WaitReason::Funds));
    };
    effects.push(charge::capture(
        &mut next,
        rated,
        share,
        snapshot,
        policy.overage,
    )?);
    Ok(Decision::Apply(Box::new(Change { job: next, effects })))
}

/// The first hold of a job: what a submission posts beside the job itself.
pub fn reserve(job: &mut Job, snapshot: &Snapshot) -> Effect {
    job.held = job.quote;
    job.versions.reserve += 1;
    let quoted = json!({ "quote": snapshot });
    effect(
        Phase::Reserve,
        job.versions.reserve,
        job.quote,
        [(EntryType::Hold, job.quote)],
        quoted,
    )
}

/// The job once its output is stored: a delivering one completes.
pub fn store_output(job: &Job) -> Job {
    let state = if job.state == State::Delivering {
        State::Completed
    } else {
        job.state
    };
    Job {
        output_stored: true,
        state,
        ..job.clone()
    }
}

/// An effect with the entries that move something.
fn effect(
    phase: Phase,
    version: i32,
    amount: Amount,
    entries: impl IntoIterator<Item = (EntryType, Amount)>,
    snapshot: serde_json::Value,
) -> Effect {
    let entries = entries
        .into_iter()
        .filter(|(_, amount)| amount.is_positive())
        .map(|(entry_type, amount)| Entry { entry_type, amount })
        .collect();
    Effect {
        phase,
        version,
        amount,
        entries,
        snapshot,
    }
}
