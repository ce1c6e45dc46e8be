//! `/approvals`: what waits for a second person, oldest first.

use engine::action::views::{self, Action};
use leptos::prelude::*;

use super::page::place;
use super::words::{category_words, headline};
use crate::context::page;
use crate::list::livemode;
use crate::shell::{Frame, FrameData};
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, PageHead, RowLink, StateBadge, Time, TimeStyle, Tone,
};

/// `/approvals`
#[component]
pub fn ApprovalsPage() -> AnyView {
    let live = livemode();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let rows = views::waiting(&mut books, live).await?;
        Ok(view! { <Approvals rows/> }.into_any())
    })
}

#[component]
fn Approvals(rows: Vec<Action>) -> AnyView {
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="Nothing waits for a second person">
                "Actions above a threshold, and lifting a freeze, come here before they take effect."
            </EmptyState>
        }
        .into_any()
    } else {
        table(rows)
    };
    view! {
        <Frame title="Approvals">
            <PageHead title="Approvals" lead="One person asks, another decides. What you asked for yourself waits for someone else."/>
            {table}
        </Frame>
    }
    .into_any()
}

fn table(rows: Vec<Action>) -> AnyView {
    let columns = vec![
        Column::text("Action"),
        Column::text("Why"),
        Column::text("Who decides"),
        Column::text("Void"),
        Column::text("Since"),
    ];
    let rows = rows.into_iter().map(line).collect_view();
    view! {
        <DataTable id="approvals" caption="Actions that wait for approval, oldest first" columns>{rows}</DataTable>
    }
    .into_any()
}

fn line(row: Action) -> impl IntoView {
    let me = FrameData::current().operator.map(|operator| operator.id);
    let (tone, who) = if me == Some(row.requested_by.id) {
        (Tone::Neutral, "Someone else: you asked for it".to_owned())
    } else {
        (
            Tone::Attention,
            format!("Anyone but {}", row.requested_by.name),
        )
    };
    let detail = view! { {place(&row)} }.into_any();
    let (since, until) = (row.requested_at, row.expires_at);
    let (reason, because) = (
        row.request.reason.clone(),
        category_words(row.request.category),
    );
    view! {
        <tr id=row.id.to_string()>
            <RowLink href=format!("/actions/{}", row.id) detail>{headline(&row.request)}</RowLink>
            <td>{reason}<span class="detail">{because}</span></td>
            <td><StateBadge tone label=who/></td>
            <td><Time at=until style=TimeStyle::Stamp/></td>
            <td class="age"><Time at=since style=TimeStyle::Age/></td>
        </tr>
    }
}
