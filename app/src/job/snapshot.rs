//! What a settlement was decided from, read back out of its snapshot, and the pricing as a table.

use domain::price::{RatedLine, Snapshot};
use leptos::prelude::*;
use rust_decimal::Decimal;
use serde::Deserialize;

use crate::ui::{Amount, AmountText, Column, DataTable, number};
use crate::words::quantity;

/// A settlement's snapshot. Which parts it has depends on the phase; none is required, so that a
/// page is shown for whatever was stored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Document {
    /// The estimate, priced, for a first reserve.
    pub(crate) quote: Option<Snapshot>,
    /// The usage, priced, for a capture or an adjustment.
    pub(crate) rating: Option<Snapshot>,
    /// What the policy left uncharged.
    pub(crate) uncharged: Option<Decimal>,
    /// The verdict that released or charged without usage.
    pub(crate) verdict: Option<String>,
    /// Why funds were reserved again.
    pub(crate) reason: Option<String>,
    /// What had been charged before an adjustment.
    pub(crate) charged_before: Option<Decimal>,
    /// What is charged after it.
    pub(crate) charged_after: Option<Decimal>,
}

impl Document {
    /// Reads a stored snapshot; one of another shape is shown raw only.
    pub(crate) fn read(snapshot: &serde_json::Value) -> Self {
        Self::deserialize(snapshot).unwrap_or_default()
    }
}

/// Whatever a stored snapshot priced: usage, or else the estimate.
pub(crate) fn priced(snapshot: &serde_json::Value) -> Option<Snapshot> {
    let document = Document::read(snapshot);
    document.rating.or(document.quote)
}

/// The usage of a rating in words: `1 image and 4 seconds`.
pub(crate) fn usage_words(rating: &Snapshot) -> String {
    let lines: Vec<_> = rating
        .lines
        .iter()
        .map(|line| quantity(line.quantity, line.meter.as_str()))
        .collect();
    match lines.split_last() {
        None => "nothing that is priced".into(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A sum of a snapshot, as drawn.
pub(crate) fn sum(rating: &Snapshot, value: Decimal) -> AmountText {
    AmountText::new(
        value,
        rating.currency.code(),
        rating.currency.minor_exponent(),
    )
}

/// The arithmetic of a pricing snapshot: quantity × price ÷ per, summed up and rounded once.
#[component]
pub(crate) fn Rating(
    /// Unique on the page.
    #[prop(into)]
    id: String,
    /// The snapshot.
    rating: Snapshot,
) -> AnyView {
    let columns = vec![
        Column::text("Meter"),
        Column::num("Quantity"),
        Column::num("Price"),
        Column::num("Amount"),
    ];
    let exact: Decimal = rating.lines.iter().map(|line| line.amount).sum();
    let rounded = exact != rating.total;
    let places = places(
        rating
            .lines
            .iter()
            .map(|line| line.amount)
            .chain([rating.total]),
    );
    let rows = rating
        .lines
        .iter()
        .map(|line| row(&rating, line, places))
        .collect_view();
    let total = view! {
        <tr>
            <th scope="row">{if rounded { "Total, rounded once" } else { "Total" }}</th>
            <td class="muted" colspan="2">{rounding(&rating)}</td>
            <td class="num"><Amount value=sum(&rating, rating.total) places/></td>
        </tr>
    };
    let caption = format!("Pricing of {} by version {}", rating.model, rating.version);
    view! {
        <DataTable id caption columns plain=true foot=total.into_any()>{rows}</DataTable>
    }
    .into_any()
}

fn row(rating: &Snapshot, line: &RatedLine, places: u8) -> impl IntoView + use<> {
    let per = if line.per == Decimal::ONE {
        "each".into()
    } else {
        format!("per {}", number(line.per))
    };
    view! {
        <tr>
            <th scope="row">{line.meter.as_str().replace('_', " ")}</th>
            <td class="num">{number(line.quantity)}</td>
            <td class="num">
                <Amount value=sum(rating, line.price)/>
                <span class="detail">{per}</span>
            </td>
            <td class="num"><Amount value=sum(rating, line.amount) places/></td>
        </tr>
    }
}

fn rounding(rating: &Snapshot) -> String {
    let word = serde_json::to_value(rating.rounding).ok();
    let word = word
        .and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default();
    format!(
        "{} to {} places",
        word.replace('_', " "),
        rating.currency.ledger_exponent()
    )
}

/// Decimals a column of sums needs, so that figures align on the point.
pub(crate) fn places(values: impl IntoIterator<Item = Decimal>) -> u8 {
    let most = values
        .into_iter()
        .map(|value| value.normalize().scale())
        .max()
        .unwrap_or(0);
    u8::try_from(most.max(2)).unwrap_or(2)
}
