//! A wallet's ledger: one line a transfer, with both balances after it.

use domain::settlement::{AccountKind, Subject};
use engine::ledger::views::Entry;
use leptos::prelude::*;
use rust_decimal::Decimal;

use crate::job::places;
use crate::ui::{Amount, AmountText, Column, DataTable, Id, RowLink, Side, Time, TimeStyle};
use crate::words::{money, titled};

#[component]
pub(super) fn Ledger(rows: Vec<Entry>, zone: String) -> AnyView {
    let columns = vec![
        Column::text("Entry"),
        Column::text("For"),
        Column::num("Amount"),
        Column::num("Available after"),
        Column::num("Held after"),
        Column::text(format!("Posted, {zone}")),
    ];
    let values = rows.iter().flat_map(|row| {
        [Some(row.amount), row.available_after, row.held_after]
            .into_iter()
            .flatten()
    });
    let places = places(values.map(|amount| amount.value()));
    let rows = rows.into_iter().map(|row| line(row, places)).collect_view();
    view! {
        <DataTable id="ledger" caption="Ledger of this wallet, newest first" columns>{rows}</DataTable>
    }
    .into_any()
}

fn line(row: Entry, places: u8) -> impl IntoView {
    let (subject, href) = match row.key.subject {
        Subject::Job(job) => (
            job.to_string(),
            format!("/jobs/{job}#{}-{}", row.key.phase, row.key.version),
        ),
        Subject::Lot(lot) => (lot.to_string(), format!("#{lot}")),
    };
    let key = format!("{}/{}", row.key.phase, row.key.version);
    let way = view! { {row.debit.to_string()}" → "{row.credit.to_string()} }.into_any();
    let (amount, side) = change(&row);
    let after = |balance: Option<domain::money::Amount>| match balance {
        Some(balance) => view! { <Amount value=money(balance) places/> }.into_any(),
        None => view! { <span class="muted">"unchanged"</span> }.into_any(),
    };
    view! {
        <tr id=format!("posting-{}", row.posting)>
            <RowLink href=format!("/settlements/{}", row.settlement) detail=way>
                {titled(row.entry_type.as_str())}
            </RowLink>
            <td><Id value=subject href bare=true/><span class="detail">{key}</span></td>
            <td class="num"><Amount value=amount side places/></td>
            <td class="num">{after(row.available_after)}</td>
            <td class="num">{after(row.held_after)}</td>
            <td class="age"><Time at=row.posted_at style=TimeStyle::Stamp/></td>
        </tr>
    }
}

/// What the line did to what the wallet may spend; a line that moved only the hold is neither
/// debit nor credit of it, and is shown as it moved.
fn change(row: &Entry) -> (AmountText, Side) {
    let currency = row.amount.currency();
    let signed =
        |value: Decimal| AmountText::new(value, currency.code(), currency.minor_exponent());
    match (row.debit, row.credit) {
        (AccountKind::Available, _) => (signed(-row.amount.value()), Side::Debit),
        (_, AccountKind::Available) => (signed(row.amount.value()), Side::Credit),
        _ => (signed(row.amount.value()), Side::Neither),
    }
}
