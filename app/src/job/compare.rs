//! Estimate against settlement: three aligned columns, each with its evidence.

use std::collections::BTreeMap;

use domain::price::Snapshot;
use domain::settlement::Phase;
use engine::settlement::views::JobProof;
use leptos::prelude::*;
use rust_decimal::Decimal;

use super::snapshot::{Document, places};
use crate::ui::{Amount, AmountText, Column, DataTable, number};
use crate::words::money;

/// What was estimated, what was settled, and the difference; by meter, then in money.
#[component]
pub(super) fn Compare(proof: JobProof) -> AnyView {
    let estimated = by_meter(&proof, |document| document.quote);
    let settled = by_meter(&proof, |document| document.rating);
    let meters = estimated.keys().chain(settled.keys()).cloned();
    let meters: std::collections::BTreeSet<_> = meters.collect();
    let rows = meters.into_iter().map(|meter| {
        let (before, after) = (estimated.get(&meter).copied(), settled.get(&meter).copied());
        let difference = before.zip(after).map(|(before, after)| after - before);
        view! {
            <tr>
                <th scope="row">{meter.replace('_', " ")}</th>
                <td class="num">{figure(before)}</td>
                <td class="num">{figure(after)}</td>
                <td class="num">{signed(difference)}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    let job = &proof.job;
    let final_sum = (!job.state.in_flight()).then_some(job.captured);
    let difference = final_sum.and_then(|settled| settled.minus(job.quote).ok());
    let places = places([job.quote.value(), job.captured.value()]);
    let draw = |value: Option<AmountText>| match value {
        Some(value) => view! { <Amount value places/> }.into_any(),
        None => view! { <span class="muted">"not yet"</span> }.into_any(),
    };
    let foot = view! {
        <tr>
            <th scope="row">"Amount"</th>
            <td class="num">{draw(Some(money(job.quote)))}</td>
            <td class="num">{draw(final_sum.map(money))}</td>
            <td class="num">{draw(difference.map(money))}</td>
        </tr>
    };
    let columns = vec![
        Column::text("Meter"),
        Column::num("Estimated"),
        Column::num("Settled"),
        Column::num("Difference"),
    ];
    view! {
        <DataTable
            id="compare"
            caption="Estimated and settled usage, and the difference"
            columns
            plain=true
            foot=foot.into_any()
        >
            {rows}
        </DataTable>
    }
    .into_any()
}

/// Quantities of the newest settlement that was priced this way.
fn by_meter(
    proof: &JobProof,
    of: impl Fn(Document) -> Option<Snapshot>,
) -> BTreeMap<String, Decimal> {
    let newest = proof.settlements.iter().rev().find_map(|settlement| {
        let fits = matches!(
            settlement.line.key.phase,
            Phase::Reserve | Phase::Capture | Phase::Adjustment
        );
        if fits {
            of(Document::read(&settlement.snapshot))
        } else {
            None
        }
    });
    let lines = newest.map(|rating| rating.lines).unwrap_or_default();
    lines
        .into_iter()
        .map(|line| (line.meter.to_string(), line.quantity))
        .collect()
}

fn figure(value: Option<Decimal>) -> String {
    value.map_or_else(|| "none".into(), number)
}

fn signed(value: Option<Decimal>) -> String {
    match value {
        None => String::new(),
        Some(value) if value > Decimal::ZERO => format!("+{}", number(value)),
        Some(value) => number(value),
    }
}
