//! The trial balance: every kind of account, and the sum that must be zero.

use domain::settlement::AccountKind;
use engine::ledger::views::TrialBalance;
use leptos::prelude::*;

use crate::job::places;
use crate::ui::{Amount, Column, DataTable, Side, StateBadge, Tone};
use crate::words::money;

/// One column a currency, one row a kind of account, the total under a double rule.
#[component]
pub(super) fn Books(trial: Vec<TrialBalance>) -> AnyView {
    let tables = trial.into_iter().map(|book| view! { <Book book/> });
    view! { <div class="stack">{tables.collect_view()}</div> }.into_any()
}

#[component]
fn Book(book: TrialBalance) -> AnyView {
    let code = book.currency.code();
    let places = places(book.kinds.iter().map(|(_, balance)| balance.value()));
    let columns = vec![
        Column::text("Account"),
        Column::text("What it is"),
        Column::num("Balance"),
    ];
    let shown = book
        .kinds
        .iter()
        .filter(|(kind, balance)| kind.of_wallet() || !balance.is_zero());
    let rows = shown.map(|(kind, balance)| {
        view! {
            <tr>
                <th scope="row">{kind.to_string()}</th>
                <td class="muted">{meaning(*kind)}</td>
                <td class="num"><Amount value=money(*balance) side=Side::FromSign places/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    let (tone, label) = if book.total.is_zero() {
        (Tone::Good, "debits equal credits")
    } else {
        (Tone::Stop, "debits and credits differ: stop and look")
    };
    let foot = view! {
        <tr class="closed">
            <th scope="row">"Sum"</th>
            <td><StateBadge tone label/></td>
            <td class="num"><Amount value=money(book.total) side=Side::FromSign places/></td>
        </tr>
    };
    let caption = format!("Trial balance in {code}");
    view! {
        <DataTable id=format!("books-{code}") caption columns plain=true foot=foot.into_any()>
            {rows}
        </DataTable>
    }
    .into_any()
}

const fn meaning(kind: AccountKind) -> &'static str {
    match kind {
        AccountKind::Available => "tenants may still spend it",
        AccountKind::Held => "set aside for jobs",
        AccountKind::Revenue => "earned",
        AccountKind::Funding => "paid in from outside",
        AccountKind::Receivable => "owed by tenants",
        AccountKind::Breakage => "expired unspent",
        AccountKind::Goodwill => "given away",
    }
}
