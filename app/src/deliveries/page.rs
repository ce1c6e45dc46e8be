//! `/deliveries`

use domain::event::DeliveryOutcome;
use engine::delivery::views::{self, Delivery, Filter};
use leptos::prelude::*;

use crate::context::page;
use crate::list::{
    Export, NoRows, Pages, Problems, Query, SavedViews, choices, livemode, mark, neighbours,
};
use crate::shell::Frame;
use crate::ui::{
    Chips, Column, DataTable, Field, FilterBar, Id, PageHead, SelectField, SortOrder, StateBadge,
    Time, TimeStyle, ViewLinks,
};
use crate::words::{delivery_tone, refusal, titled};

/// `/deliveries`
#[component]
pub fn DeliveriesPage() -> AnyView {
    let mut query = Query::read("/deliveries", &["outcome", "reason", "source"]);
    let filter = Filter {
        livemode: livemode(),
        outcome: query.parsed("outcome"),
        reason: query.text("reason"),
        source: query.text("source"),
    };
    let cursor = query.cursor();
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let list = views::list(&mut books, &filter, cursor).await?;
        let (newer, older) = neighbours(&query, &list, |row: &Delivery| row.id);
        Ok(view! { <Deliveries query rows=list.rows newer older/> }.into_any())
    })
}

#[component]
fn Deliveries(
    query: Query,
    rows: Vec<Delivery>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    let columns = vec![
        Column::text("Delivery"),
        Column::text("Outcome"),
        Column::text("What to do"),
        Column::num("Answered"),
        Column::text("Arrived").sorted(SortOrder::Descending),
    ];
    let shown = rows.len();
    let table = if rows.is_empty() {
        let query = query.clone();
        view! {
            <NoRows
                query
                what="deliveries"
                nothing="Every request to a webhook URL is listed here, refused ones with the reason."
            />
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="deliveries" caption="Deliveries, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("delivery", "deliveries") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let outcome = |outcome: DeliveryOutcome| {
        query.view(&titled(outcome.as_str()), &[("outcome", outcome.as_str())])
    };
    let mut links = vec![query.view("All", &[])];
    links.extend(DeliveryOutcome::ALL.iter().copied().map(outcome));
    let (selected, source, reason) = (
        query.raw("outcome"),
        query.raw("source"),
        query.raw("reason"),
    );
    let (chips, problems) = (query.chips(), query.problems());
    view! {
        <Frame title="Deliveries">
            <PageHead
                title="Deliveries"
                lead="Every HTTP attempt. Refused ones keep their reason and never their content."
            />
            <div class="filters">
                <ViewLinks label="Views" links/>
                <FilterBar action="/deliveries" what="deliveries">
                    <SelectField
                        name="outcome"
                        label="Outcome"
                        choices=choices("any", DeliveryOutcome::ALL)
                        selected
                    />
                    <Field name="source" label="Source" value=source/>
                    <Field name="reason" label="Reason" value=reason/>
                </FilterBar>
                <Chips chips clear_href="/deliveries"/>
                <SavedViews query=query.clone()/>
            </div>
            <Problems problems/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Delivery) -> impl IntoView {
    let tone = delivery_tone(row.outcome);
    let from = row.remote_address.unwrap_or_default();
    let detail = match row.asked {
        true => format!("{} bytes, asked for", row.body_bytes),
        false => format!("{} bytes from {from}", row.body_bytes),
    };
    let source = if row.source_known {
        let href = format!("/sources#{}", row.source_slug);
        view! { <a href=href>{row.source_slug}</a> }.into_any()
    } else {
        view! { {row.source_slug}" "<span class="muted">"(unknown)"</span> }.into_any()
    };
    let event = row.event.map(|event| {
        let href = format!("/events/{event}#delivery-{}", row.id);
        view! { <Id value=event.to_string() href bare=true/> }
    });
    let (why, advice) = match row.reason.as_deref() {
        Some(reason) => {
            let (why, advice) = refusal(reason);
            (Some(why), Some(advice))
        }
        None => (None, None),
    };
    let code = row.reason.clone();
    view! {
        <tr id=format!("delivery-{}", row.id) data-tone=mark(tone)>
            <th scope="row">{source}<span class="detail">{detail}</span></th>
            <td>
                <StateBadge tone label=titled(row.outcome.as_str())/>
                <span class="detail">{why}</span>
            </td>
            <td>
                {event}{advice}
                {code.map(|code| view! { <span class="detail"><code>{code}</code></span> })}
            </td>
            <td class="num">{row.status}</td>
            <td class="age"><Time at=row.received_at style=TimeStyle::Age/></td>
        </tr>
    }
}
