//! The answer in a sentence, told from the settlements in the order they were written.

use std::fmt::Write;

use domain::job::State;
use domain::money::Amount;
use domain::settlement::{EntryType, Phase};
use engine::settlement::views::{JobProof, SettlementView};
use rust_decimal::Decimal;

use super::snapshot::{Document, usage_words};
use crate::words::money;

/// What happened to the money of a job.
pub(super) fn sentence(proof: &JobProof) -> String {
    let job = &proof.job;
    if job.state == State::Blocked {
        let reason = job
            .state_reason
            .as_deref()
            .unwrap_or("local policy refused it");
        return format!("Blocked before anything was reserved: {reason}. No money moved.");
    }
    let mut clauses: Vec<String> = Vec::new();
    for settlement in &proof.settlements {
        clauses.extend(told(settlement));
    }
    let mut text = clauses.join(", ");
    if let Some(first) = text.get(..1) {
        let first = first.to_uppercase();
        text.replace_range(..1, &first);
    }
    if text.is_empty() {
        text.push_str("No money moved");
    }
    text.push('.');
    if job.state.in_flight() {
        text.push_str(" Nothing is charged before the provider's verdict.");
    } else if !job.captured.is_positive() && job.captured.is_zero() {
        text.push_str(" Nothing was charged.");
    }
    if job.receivable.is_positive() {
        let _ = write!(text, " The tenant owes {}.", money(job.receivable));
    }
    text
}

fn told(settlement: &SettlementView) -> Vec<String> {
    let document = Document::read(&settlement.snapshot);
    let amount = money(settlement.line.amount).figure();
    let moved = |entry: EntryType| {
        let transfer = settlement.transfers.iter().find(|x| x.entry_type == entry);
        transfer.map(|transfer| money(transfer.amount).figure())
    };
    let mut out = Vec::new();
    match settlement.line.key.phase {
        Phase::Reserve if document.reason.is_some() => {
            out.push(format!("reserved {amount} again after a late success"));
        }
        Phase::Reserve => out.push(format!("reserved {}", money(settlement.line.amount))),
        Phase::Capture => {
            if let Some(rating) = &document.rating {
                let total = super::snapshot::sum(rating, rating.total).figure();
                out.push(format!("used {} at {total}", usage_words(rating)));
            }
            if let Some(verdict) = &document.verdict {
                out.push(format!("{verdict} without a refund"));
            }
            out.push(format!("captured {amount}"));
            out.extend(moved(EntryType::Overage).map(|sum| format!("{sum} of it above the hold")));
            out.extend(moved(EntryType::Receivable).map(|sum| format!("{sum} of it owed")));
            out.extend(moved(EntryType::Remainder).map(|sum| format!("returned {sum}")));
            if let Some(left) = document.uncharged.filter(|left| *left > Decimal::ZERO) {
                out.push(format!(
                    "left {} uncharged, as the tenant's policy caps",
                    left.normalize()
                ));
            }
        }
        Phase::Release => {
            out.extend(document.verdict.clone());
            out.push(format!("returned {amount}"));
        }
        Phase::Adjustment | Phase::Reversal => {
            let currency = settlement.line.amount.currency();
            let figure = |value: Option<Decimal>| {
                let amount = Amount::exact(value?, currency).ok()?;
                Some(money(amount).figure())
            };
            // Usage is corrected by an event, everything else by a person.
            let by = if settlement.line.event.is_some() {
                ""
            } else {
                " by hand"
            };
            let (before, after) = (
                figure(document.charged_before),
                figure(document.charged_after),
            );
            out.push(match before.zip(after) {
                Some((before, after)) if before == after => {
                    format!("then heard other usage, which left it at {after}")
                }
                Some((before, after)) => format!("then corrected {before} to {after}{by}"),
                None => format!("then adjusted by {amount}"),
            });
        }
        phase => out.push(format!(
            "{} {amount}",
            crate::words::phase_words(phase).to_lowercase()
        )),
    }
    out
}
