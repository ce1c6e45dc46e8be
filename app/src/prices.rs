//! Prices, read only: every version of every model, newest first.

use domain::price::Component;
use engine::price::views::{PriceVersion, list};
use leptos::prelude::*;

use crate::context::page;
use crate::shell::{Frame, FrameData};
use crate::ui::{
    Amount, AmountText, Column, DataTable, EmptyKind, EmptyState, PageHead, StateBadge, Time,
    TimeStyle, Tone,
};
use crate::words::quantity;

/// The anchor of a model on this page.
pub(crate) fn anchor(model: &str) -> String {
    model
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// `/prices`
#[component]
pub fn PricesPage() -> AnyView {
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let rows = list(&mut books).await?;
        Ok(view! { <Prices rows/> }.into_any())
    })
}

#[component]
fn Prices(rows: Vec<PriceVersion>) -> AnyView {
    let columns = vec![
        Column::text("Price"),
        Column::text("State"),
        Column::num("Components"),
        Column::text("Quoted without an estimate"),
        Column::text("In force from"),
    ];
    let now = FrameData::current().now;
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="No price is set up yet">
                "Without a price nothing can be quoted: jobs are refused with 422 until there is one."
            </EmptyState>
        }
        .into_any()
    } else {
        let mut before: Option<(String, &'static str, bool)> = None;
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| {
                let code = row.currency.code();
                let same = before
                    .as_ref()
                    .is_some_and(|(model, currency, _)| *model == row.model && *currency == code);
                let taken = same && before.as_ref().is_some_and(|(.., current)| *current);
                let future = row.effective_from > now;
                let state = match (future, taken) {
                    (true, _) => (Tone::Moving, "Takes effect later"),
                    (false, false) => (Tone::Good, "In force"),
                    (false, true) => (Tone::Neutral, "Past"),
                };
                before = Some((row.model.clone(), code, taken || !future));
                line(row, state, !same)
            })
            .collect();
        view! {
            <DataTable id="prices" caption="Price versions by model, newest first" columns>{rows}</DataTable>
        }
        .into_any()
    };
    view! {
        <Frame title="Prices">
            <PageHead
                title="Prices"
                lead="A price never changes: a new version takes effect, and jobs keep the one they were quoted by."
            />
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: PriceVersion, (tone, label): (Tone, &'static str), first: bool) -> AnyView {
    let currency = row.currency;
    let lines = row
        .terms
        .components
        .iter()
        .map(|Component { meter, price, per }| {
            let value = AmountText::new(*price, currency.code(), currency.minor_exponent());
            let per = quantity(*per, meter.as_str());
            view! { <div><Amount value/><span class="detail">"per "{per}</span></div> }
        });
    let lines = lines.collect_view();
    let estimate = row
        .terms
        .estimate
        .iter()
        .map(|(meter, n)| quantity(n, meter.as_str()));
    let estimate = estimate.collect::<Vec<_>>().join(", ");
    let at = row.effective_from;
    view! {
        <tr id=first.then(|| anchor(&row.model))>
            <th scope="row">
                <a href=format!("/jobs?model={}", row.model)>{row.model.clone()}</a>
                <span class="detail">{format!("version {} · {} · by {}", row.version, currency.code(), row.created_by)}</span>
            </th>
            <td><StateBadge tone label/></td>
            <td class="num">{lines}</td>
            <td>{estimate}</td>
            <td class="age"><Time at style=TimeStyle::Stamp/></td>
        </tr>
    }
    .into_any()
}
