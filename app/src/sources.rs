//! Sources: how each sender is verified, how its deliveries fare, and whether its events wait.

use domain::action::Kind;
use engine::delivery::views::{Sender, senders};
use leptos::prelude::*;

use crate::context::{may_act, page};
use crate::shell::Frame;
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, PageHead, StateBadge, Time, TimeStyle, Tone,
};
use crate::words::count;

/// `/sources`
#[component]
pub fn SourcesPage() -> AnyView {
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let rows = senders(&mut books, engine.clock().now()).await?;
        Ok(view! { <Sources rows/> }.into_any())
    })
}

#[component]
fn Sources(rows: Vec<Sender>) -> AnyView {
    let columns = vec![
        Column::text("Source"),
        Column::text("State"),
        Column::text("Verification"),
        Column::num("Refused lately"),
        Column::text("Last event"),
    ];
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="No source is set up yet">
                "Add one on the command line: quittance source add. Then give its webhook URL to the sender."
            </EmptyState>
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="sources" caption="Sources by name" columns>{rows}</DataTable>
        }
        .into_any()
    };
    view! {
        <Frame title="Sources">
            <PageHead title="Sources" lead="Who may send events, and how their requests prove it."/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Sender) -> impl IntoView {
    let (tone, label) = match row.disabled_at {
        _ if row.frozen_at.is_some() => (Tone::Stop, "Frozen: its events wait"),
        Some(_) => (Tone::Neutral, "Switched off"),
        None if row.active_secrets == 0 && row.scheme != "fal-ed25519" => {
            (Tone::Attention, "No secret: nothing verifies")
        }
        None => (Tone::Good, "Accepting"),
    };
    let mode = if row.livemode { "live" } else { "test" };
    let scheme = row.scheme.clone();
    let secrets = count(row.active_secrets, "active secret", "active secrets");
    let limits = format!(
        "{secrets}, {} s tolerance, {} kB at most, answers {}",
        row.tolerance_seconds,
        row.body_limit_bytes / 1024,
        row.ack_status
    );
    let refused = match row.rejected {
        0 => view! { <span class="muted">"0"</span> }.into_any(),
        n => {
            let href = format!("/deliveries?outcome=rejected&source={}", row.slug);
            view! { <a href=href>{n}</a> }.into_any()
        }
    };
    let last = match row.last_event_at {
        Some(at) => view! { <Time at style=TimeStyle::Age/> }.into_any(),
        None => view! { <span class="muted">"none lately"</span> }.into_any(),
    };
    let act = may_act().then(|| {
        let (kind, label) = match row.frozen_at {
            Some(_) => (Kind::Unfreeze, "Lift the freeze"),
            None => (Kind::Freeze, "Freeze"),
        };
        let href = format!("/sources/{}/{kind}", row.slug);
        let of = format!(" of {}", row.name);
        view! { <span class="detail"><a href=href>{label}<span class="unseen">{of}</span></a></span> }
    });
    let answers = match row.answers_at {
        Some(base) => format!("asked at {base}"),
        None => "not asked: it has no answer API".to_owned(),
    };
    view! {
        <tr id=row.slug.clone()>
            <th scope="row">
                <a href=format!("/events?source={}", row.slug)>{row.name}</a>
                <span class="detail">{format!("/webhooks/{} · {} · {mode}", row.slug, row.adapter)}</span>
            </th>
            <td><StateBadge tone label/>{act}</td>
            <td>{scheme}<span class="detail">{limits}</span><span class="detail">{answers}</span></td>
            <td class="num">{refused}</td>
            <td class="age">{last}</td>
        </tr>
    }
}
