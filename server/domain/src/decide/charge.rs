//! Charging: how an amount is split between the hold, available funds and what is owed.

use serde_json::json;

use crate::{
    decide::{Overage, effect},
    job::Job,
    money::{Amount, AmountError},
    price::Snapshot,
    settlement::{Effect, EntryType, Phase},
};

/// A charge, by who pays it. Both parts are revenue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    /// From the wallet: its hold or its available funds.
    pub(super) wallet: Amount,
    /// Booked as owed.
    pub(super) owed: Amount,
}

impl Share {
    /// How the charge of a job whose usage comes to `due` is split when the wallet can pay `payable` in
    /// all: what it has left, and what it has put down for this job already. Never more than that is
    /// taken from it. What is due beyond is owed, or, where policy books nothing as owed, waited for:
    /// `None`.
    pub(super) fn of(
        job: &Job,
        due: Amount,
        overage: Overage,
        payable: Amount,
    ) -> Result<Option<Self>, AmountError> {
        let charge = job.correction.of(due)?;
        let wallet = match overage {
            Overage::Cap if payable.value() < charge.value() => return Ok(None),
            Overage::Cap => charge,
            Overage::Receivable => {
                let reserved = job.quote.plus(job.correction.on_top())?;
                charge.min(reserved)?.min(payable)?
            }
            Overage::Charge => charge.min(payable)?,
        };
        Ok(Some(Self {
            wallet,
            owed: charge.minus(wallet)?,
        }))
    }

    /// The entries that lead from what a job was charged to this share. What is owed shrinks before the
    /// wallet is credited, and both may move in one revision.
    pub(super) fn differences(self, job: &Job) -> Result<[(EntryType, Amount); 4], AmountError> {
        let paid = job.captured.minus(job.receivable)?;
        Ok([
            (
                EntryType::AdjustmentReceivableCredit,
                excess(job.receivable, self.owed)?,
            ),
            (EntryType::AdjustmentCredit, excess(paid, self.wallet)?),
            (EntryType::AdjustmentCharge, excess(self.wallet, paid)?),
            (
                EntryType::AdjustmentReceivable,
                excess(self.owed, job.receivable)?,
            ),
        ])
    }

    fn total(self) -> Result<Amount, AmountError> {
        self.wallet.plus(self.owed)
    }
}

/// What usage rated at `rated` comes to when `quote` was reserved, by the tenant's policy alone.
pub(super) fn due(rated: Amount, quote: Amount, overage: Overage) -> Result<Amount, AmountError> {
    match overage {
        Overage::Cap => rated.min(quote),
        Overage::Charge | Overage::Receivable => Ok(rated),
    }
}

/// Turns the hold into revenue, returns what it did not need, and charges what it did not cover.
/// `share` is what is charged of `rated`.
pub(super) fn capture(
    job: &mut Job,
    rated: Amount,
    share: Share,
    snapshot: &Snapshot,
    overage: Overage,
) -> Result<Effect, AmountError> {
    let from_hold = share.wallet.min(job.held)?;
    let entries = [
        (EntryType::Capture, from_hold),
        (EntryType::Remainder, job.held.minus(from_hold)?),
        (EntryType::Overage, share.wallet.minus(from_hold)?),
        (EntryType::Receivable, share.owed),
    ];
    let charged = share.total()?;
    let document = document(snapshot, overage, rated, charged)?;
    job.captured = charged;
    job.receivable = share.owed;
    job.held = Amount::zero(job.quote.currency());
    job.versions.capture += 1;
    Ok(effect(
        Phase::Capture,
        job.versions.capture,
        charged,
        entries,
        document,
    ))
}

/// Corrects what was charged to a new share, by the differences.
pub(super) fn adjust(
    job: &mut Job,
    target: Share,
    snapshot: &Snapshot,
) -> Result<Effect, AmountError> {
    let nothing = Amount::zero(job.quote.currency());
    let entries = target.differences(job)?;
    let charged = target.total()?;
    let moved = if charged.value() >= job.captured.value() {
        charged.minus(job.captured)?
    } else {
        job.captured.minus(charged)?
    };
    let document = json!({
        "rating": snapshot,
        "charged_before": job.captured.value().to_string(),
        "charged_after": charged.value().to_string(),
    });
    job.captured = charged;
    job.receivable = target.owed;
    job.held = nothing;
    job.versions.adjustment += 1;
    Ok(effect(
        Phase::Adjustment,
        job.versions.adjustment,
        moved,
        entries,
        document,
    ))
}

/// How much `a` is above `b`; zero when it is not.
fn excess(a: Amount, b: Amount) -> Result<Amount, AmountError> {
    let difference = a.minus(b)?;
    Ok(if difference.is_positive() {
        difference
    } else {
        Amount::zero(a.currency())
    })
}

/// What a capture was decided from, with what the policy left uncharged.
fn document(
    snapshot: &Snapshot,
    overage: Overage,
    rated: Amount,
    charged: Amount,
) -> Result<serde_json::Value, AmountError> {
    Ok(json!({
        "rating": snapshot,
        "overage": overage,
        "uncharged": rated.minus(charged)?.value().to_string(),
    }))
}
