//! What a person's correction of a job does: an adjustment, a reversal, or the release of a hold whose
//! verdict never came. The same for every caller: an action's dry run shows exactly what its commit posts.

use rust_decimal::Decimal;
use serde_json::json;

use super::{Change, charge::Share, effect, release};
use crate::{
    job::{Correction, Job, State},
    money::{Amount, AmountError},
    settlement::{Effect, Phase},
};

/// What is to be changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Correct {
    /// Charge so much more, or less when it is below zero.
    Adjust(Amount),
    /// Take the whole charge back.
    Reverse,
    /// Undo an adjustment of so much.
    UndoAdjust(Amount),
    /// Undo a reversal: the charge is due again.
    UndoReverse,
    /// Give the hold back although there is no verdict.
    Release,
}

/// Why a correction cannot be made as things stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Obstacle {
    /// There is no charge to correct.
    #[error("nothing was charged for this job")]
    NotCharged,
    /// The charge is reversed.
    #[error("the charge is reversed: undo that first")]
    Reversed,
    /// The charge is not reversed.
    #[error("the charge is not reversed")]
    NotReversed,
    /// More would be given back than was charged.
    #[error("only {0} was charged, so no more can be given back")]
    MoreThanCharged(Amount),
    /// The wallet cannot pay it.
    #[error("the wallet can pay {0}; it takes more")]
    Short(Amount),
    /// There is no hold, or its verdict came.
    #[error("there is no hold without a verdict: the job is {0}")]
    NoHold(State),
}

/// Works out a correction. `spendable` is what the wallet can pay now.
///
/// # Errors
/// [`AmountError`] only when sums leave the ledger's range.
pub fn correct(
    job: &Job,
    correction: Correct,
    spendable: Amount,
) -> Result<Result<Change, Obstacle>, AmountError> {
    let now = job.correction;
    let (phase, next) = match correction {
        Correct::Release => return Ok(give_up(job)),
        _ if job.billed.is_none() => return Ok(Err(Obstacle::NotCharged)),
        Correct::Adjust(_) | Correct::UndoAdjust(_) | Correct::Reverse if now.reversed => {
            return Ok(Err(Obstacle::Reversed));
        }
        Correct::Reverse if job.captured.is_zero() => return Ok(Err(Obstacle::NotCharged)),
        Correct::UndoReverse if !now.reversed => return Ok(Err(Obstacle::NotReversed)),
        Correct::Adjust(by) => (Phase::Adjustment, net(now, now.net.plus(by)?)),
        Correct::UndoAdjust(by) => (Phase::Reversal, net(now, now.net.minus(by)?)),
        Correct::Reverse => (Phase::Reversal, reversed(now, true)),
        Correct::UndoReverse => (Phase::Reversal, reversed(now, false)),
    };
    let charge = next.of(job.due)?;
    let gives_back = next.net.value() < now.net.value();
    if gives_back && job.due.plus(next.net)?.value() < Decimal::ZERO {
        return Ok(Err(Obstacle::MoreThanCharged(job.captured)));
    }
    let more = charge.minus(job.captured)?;
    if more.is_positive() && more.value() > spendable.value() {
        return Ok(Err(Obstacle::Short(spendable)));
    }
    let mut after = Job {
        correction: next,
        ..job.clone()
    };
    let effect = move_charge(&mut after, charge, phase)?;
    Ok(Ok(Change {
        job: after,
        effects: vec![effect],
    }))
}

fn net(now: Correction, net: Amount) -> Correction {
    Correction { net, ..now }
}

fn reversed(now: Correction, reversed: bool) -> Correction {
    Correction { reversed, ..now }
}

/// Moves the charge to a new sum. More is taken from the wallet; less lowers what is owed before the
/// wallet is credited.
fn move_charge(job: &mut Job, charge: Amount, phase: Phase) -> Result<Effect, AmountError> {
    let paid = job.captured.minus(job.receivable)?;
    let more = charge.minus(job.captured)?;
    let target = if more.is_positive() {
        Share {
            wallet: paid.plus(more)?,
            owed: job.receivable,
        }
    } else {
        let owed = job.receivable.plus(more)?;
        let owed = if owed.is_positive() {
            owed
        } else {
            Amount::zero(charge.currency())
        };
        Share {
            wallet: charge.minus(owed)?,
            owed,
        }
    };
    let entries = target.differences(job)?;
    let version = match phase {
        Phase::Reversal => {
            job.versions.reversal += 1;
            job.versions.reversal
        }
        _ => {
            job.versions.adjustment += 1;
            job.versions.adjustment
        }
    };
    let document = json!({
        "charged_before": job.captured.value().to_string(),
        "charged_after": charge.value().to_string(),
    });
    let moved = if more.is_positive() {
        more
    } else {
        job.captured.minus(charge)?
    };
    job.captured = charge;
    job.receivable = target.owed;
    Ok(effect(phase, version, moved, entries, document))
}

/// The hold of a job whose verdict never came goes back. A success that is heard later has authority
/// over it, as over every other verdict.
fn give_up(job: &Job) -> Result<Change, Obstacle> {
    if !job.state.in_flight() {
        return Err(Obstacle::NoHold(job.state));
    }
    let mut next = Job {
        state: State::Cancelled,
        state_reason: Some("given up: no verdict came".to_owned()),
        ..job.clone()
    };
    let released = release(&mut next, json!({ "verdict": null, "given_up": true }));
    Ok(Change {
        job: next,
        effects: vec![released],
    })
}
