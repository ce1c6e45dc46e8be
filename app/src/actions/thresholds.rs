//! `/thresholds`: up to which amount an action goes without a second person, and how that came about.

use domain::action::Kind;
use domain::money::Currency;
use engine::action::views::{Threshold, thresholds};
use leptos::prelude::*;

use super::words::form_title;
use crate::context::{may_set_up, page};
use crate::shell::{Frame, Kept};
use crate::ui::{
    Amount, Button, ButtonKind, Choice, Column, DataTable, EmptyKind, EmptyState, Field, Form,
    PageHead, Section, SelectField, StateBadge, Time, TimeStyle, Tone,
};
use crate::words::money;

/// `/thresholds`
#[component]
pub fn ThresholdsPage() -> AnyView {
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let rows = thresholds(&mut books).await?;
        Ok(view! { <Thresholds rows/> }.into_any())
    })
}

#[component]
fn Thresholds(rows: Vec<Threshold>) -> AnyView {
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="Every amount takes two people">
                "An installation that has set no threshold is safe rather than convenient."
            </EmptyState>
        }
        .into_any()
    } else {
        table(rows)
    };
    let form = may_set_up().then(form);
    view! {
        <Frame title="Thresholds">
            <PageHead
                title="Thresholds"
                lead="Up to which amount an action goes without a second person. Lifting a freeze and giving up a hold always take two."
            />
            <div class="stack">
                {table}
                {form}
            </div>
        </Frame>
    }
    .into_any()
}

fn table(rows: Vec<Threshold>) -> AnyView {
    let columns = vec![
        Column::text("Action"),
        Column::text("State"),
        Column::num("Alone up to"),
        Column::text("Set by"),
        Column::text("Since"),
    ];
    let mut before: Option<(Kind, Currency)> = None;
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let subject = (row.kind, row.above.currency());
            let is_in_force = before != Some(subject);
            before = Some(subject);
            line(row, is_in_force)
        })
        .collect();
    view! {
        <DataTable id="thresholds" caption="Thresholds by action and currency, newest first" columns>{rows}</DataTable>
    }
    .into_any()
}

fn line(row: Threshold, is_in_force: bool) -> AnyView {
    let (tone, label) = match is_in_force {
        true => (Tone::Good, "In force"),
        false => (Tone::Neutral, "Past"),
    };
    let at = row.at;
    let version = format!("version {} · {}", row.version, row.above.currency().code());
    view! {
        <tr>
            <th scope="row">{form_title(row.kind)}<span class="detail">{version}</span></th>
            <td><StateBadge tone label/></td>
            <td class="num"><Amount value=money(row.above)/></td>
            <td>{row.by}</td>
            <td class="age"><Time at style=TimeStyle::Stamp/></td>
        </tr>
    }
    .into_any()
}

fn form() -> AnyView {
    let kept = Kept::of("/thresholds");
    let kinds = Kind::ALL
        .iter()
        .filter(|kind| kind.has_threshold())
        .map(|kind| Choice::new(kind.as_str(), form_title(*kind)));
    let kinds = std::iter::once(Choice::new("", "choose"))
        .chain(kinds)
        .collect();
    let currencies = Currency::all().map(|currency| Choice::new(currency.code(), currency.code()));
    let currencies = std::iter::once(Choice::new("", "choose"))
        .chain(currencies)
        .collect();
    view! {
        <Section title="Set a threshold" id="set">
            <Form action="/thresholds">
                <SelectField name="action" label="Action" choices=kinds selected=kept.text("action")/>
                <SelectField name="currency" label="Currency" choices=currencies selected=kept.text("currency")/>
                <Field
                    name="above"
                    label="Alone up to"
                    value=kept.text("above")
                    inputmode="decimal"
                    autocomplete="off"
                    required=true
                    maxlength=32
                    hint="0 asks for a second person every time."
                />
                <div class="submit">
                    <Button kind=ButtonKind::Primary>"Set it"</Button>
                </div>
            </Form>
        </Section>
    }
    .into_any()
}
