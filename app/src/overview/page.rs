//! `/`

use engine::event::views::{self as events, Event, Filter};
use engine::freeze::views::Counts;
use engine::ledger::views::{TrialBalance, trial_balance};
use engine::overview::{self, Overview, Refused};
use engine::page::Cursor;
use leptos::prelude::*;

use super::charts::Charts;
use super::figures::{Figures4, headline};
use crate::context::page;
use crate::list::livemode;
use crate::shell::Frame;
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, Id, PageHead, RowLink, Section, StateBadge, Time,
    TimeStyle, Tone,
};
use crate::words::{count, event_reason, event_tone, refusal, titled};

/// Rows of what needs a person; the rest is behind a link.
const SHOWN: usize = 8;

/// `/`
#[component]
pub fn OverviewPage() -> AnyView {
    let live = livemode();
    page(move |engine| async move {
        let overview = overview::read(&engine, live).await?;
        let mut books = engine.snapshot().await?;
        let trial = trial_balance(&mut books, None, live).await?;
        let wanted = |attention| Filter {
            livemode: live,
            attention,
            contradicted: !attention,
            ..Filter::default()
        };
        let mut waiting = events::list(&mut books, &wanted(false), Cursor::Newest)
            .await?
            .rows;
        waiting.truncate(SHOWN / 2);
        let more = events::list(&mut books, &wanted(true), Cursor::Newest)
            .await?
            .rows;
        waiting.extend(more.into_iter().take(SHOWN - waiting.len()));
        Ok(view! { <Whole overview trial waiting/> }.into_any())
    })
}

#[component]
fn Whole(overview: Overview, trial: Vec<TrialBalance>, waiting: Vec<Event>) -> AnyView {
    let title = headline(&overview, &trial);
    let refused = overview.refused.clone();
    let figures = view! { <Figures4 overview=overview.clone() trial/> };
    let attention = attention(waiting, refused, overview.frozen);
    let note = view! { <a href="/events?attention=true">"All that need attention"</a> }.into_any();
    view! {
        <Frame title="Overview">
            <PageHead title/>
            <div class="stack">
                {figures}
                <Charts overview/>
                <Section title="Needs a person" id="attention" note>{attention}</Section>
            </div>
        </Frame>
    }
    .into_any()
}

fn attention(waiting: Vec<Event>, refused: Vec<Refused>, stopped: Counts) -> AnyView {
    if waiting.is_empty() && refused.is_empty() && stopped.total() == 0 {
        return view! {
            <EmptyState kind=EmptyKind::Nothing title="Nothing waits for a person">
                "Freezes, conflicts, events that cannot be used and refused deliveries would stand here."
            </EmptyState>
        }
        .into_any();
    }
    let columns = vec![
        Column::text("What"),
        Column::text("Why"),
        Column::text("Job"),
        Column::text("Since"),
    ];
    let events = waiting.into_iter().map(event).collect_view();
    let refused = refused.into_iter().map(refusals).collect_view();
    view! {
        <DataTable id="waiting" caption="What needs a person, newest first" columns>
            {frozen(stopped)}
            {events}
            {refused}
        </DataTable>
    }
    .into_any()
}

fn frozen(counts: Counts) -> Option<AnyView> {
    let at = counts.oldest?;
    let parts = [
        (counts.tenants, "tenant", "tenants"),
        (counts.sources, "source", "sources"),
        (counts.wallets, "wallet", "wallets"),
    ];
    let parts: Vec<_> = parts
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| count(n, one, many))
        .collect();
    let what = format!("{} frozen", parts.join(", "));
    let row = view! {
        <tr data-tone=Tone::Stop.as_str()>
            <RowLink href="/freezes">{what}</RowLink>
            <td><StateBadge tone=Tone::Stop label="Frozen"/><span class="detail">"Two people lift a freeze. Nothing is lost meanwhile."</span></td>
            <td class="muted">"none"</td>
            <td class="age"><Time at style=TimeStyle::Age/></td>
        </tr>
    };
    Some(row.into_any())
}

fn event(row: Event) -> impl IntoView {
    let contradicted = row.contradicted;
    let (tone, label) = if contradicted {
        (Tone::Stop, "Same key, other content".to_owned())
    } else {
        (event_tone(row.state), titled(row.state.as_str()))
    };
    let why = match row.reason.as_deref() {
        _ if contradicted => "What came first stands until a person decides.".to_owned(),
        Some(reason) => event_reason(reason),
        None => String::new(),
    };
    let anchor = if contradicted { "#conflicts" } else { "" };
    let detail = format!("{} · {}", row.source_slug, row.id);
    let detail = view! { {detail} }.into_any();
    let job = match row.job {
        Some((_, job)) => {
            let href = format!("/jobs/{job}");
            view! { <Id value=job.to_string() href bare=true/> }.into_any()
        }
        None => view! { <span class="muted">"none"</span> }.into_any(),
    };
    view! {
        <tr data-tone=tone.as_str()>
            <RowLink href=format!("/events/{}{anchor}", row.id) detail>
                {row.kind}
            </RowLink>
            <td><StateBadge tone label/><span class="detail">{why}</span></td>
            <td>{job}</td>
            <td class="age"><Time at=row.received_at style=TimeStyle::Age/></td>
        </tr>
    }
}

fn refusals(group: Refused) -> impl IntoView {
    let (why, advice) = refusal(&group.reason);
    let href = format!(
        "/deliveries?outcome=rejected&reason={}&source={}",
        group.reason, group.source
    );
    let what = count(group.count, "delivery refused", "deliveries refused");
    let detail = view! { "to "{group.source} }.into_any();
    view! {
        <tr data-tone=Tone::Attention.as_str()>
            <RowLink href detail>{what}</RowLink>
            <td><StateBadge tone=Tone::Attention label=why/><span class="detail">{advice}</span></td>
            <td class="muted">"none"</td>
            <td class="age"><Time at=group.last style=TimeStyle::Age/></td>
        </tr>
    }
}
