//! `/events`

use domain::event::EventState;
use domain::id::JobId;
use domain::task::Kind;
use engine::event::views::{self, Event, Filter};
use leptos::prelude::*;

use crate::context::page;
use crate::list::{
    Export, NoRows, Pages, Problems, Query, SavedViews, choices, livemode, mark, neighbours,
};
use crate::shell::Frame;
use crate::tasks::AboutAll;
use crate::ui::{
    Chips, Column, DataTable, Field, FilterBar, Id, LiveBar, PageHead, RowLink, SelectField,
    SortOrder, StateBadge, Time, TimeStyle, Tone, ViewLinks,
};
use crate::words::{event_reason, event_tone, titled};

const FILTERS: [&str; 7] = [
    "state",
    "attention",
    "contradicted",
    "source",
    "kind",
    "job",
    "since",
];

/// `/events`
#[component]
pub fn EventsPage() -> AnyView {
    let mut query = Query::read("/events", &FILTERS);
    let filter = Filter {
        livemode: livemode(),
        state: query.parsed("state"),
        attention: query.parsed::<bool>("attention").unwrap_or(false),
        contradicted: query.parsed::<bool>("contradicted").unwrap_or(false),
        source: query.text("source"),
        kind: query.text("kind"),
        job: query.parsed::<JobId>("job"),
        since: query.day("since"),
    };
    let cursor = query.cursor();
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let list = views::list(&mut books, &filter, cursor).await?;
        let (newer, older) = neighbours(&query, &list, |row: &Event| row.id.0);
        // Events that a person has to look at may be looked at again together.
        let key = (filter.attention || filter.state.is_some_and(EventState::is_case))
            .then(|| engine.mint().simple().to_string());
        Ok(view! { <Events query rows=list.rows newer older key/> }.into_any())
    })
}

#[component]
fn Events(
    query: Query,
    rows: Vec<Event>,
    newer: Option<String>,
    older: Option<String>,
    key: Option<String>,
) -> AnyView {
    let columns = vec![
        Column::text("Event"),
        Column::text("State"),
        Column::text("Job"),
        Column::text("Deliveries"),
        Column::text("Accepted").sorted(SortOrder::Descending),
    ];
    let shown = rows.len();
    let table = if rows.is_empty() {
        let query = query.clone();
        view! {
            <NoRows
                query
                what="events"
                nothing="Events come from providers: give one the webhook URL of a source."
            />
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="events" caption="Events, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("event", "events") newer older/>
            {key.map(|key| view! { <AboutAll query=query.clone() kind=Kind::Replay key/> })}
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let state =
        |state: EventState| query.view(&titled(state.as_str()), &[("state", state.as_str())]);
    let mut links = vec![
        query.view("All", &[]),
        query.view("Needs attention", &[("attention", "true")]),
    ];
    links.push(query.view("Quarantined", &[("state", EventState::Conflict.as_str())]));
    links.push(query.view("Other content", &[("contradicted", "true")]));
    links.extend(
        [
            EventState::Rejected,
            EventState::Waiting,
            EventState::Failed,
        ]
        .map(state),
    );
    let (selected, source, kind) = (query.raw("state"), query.raw("source"), query.raw("kind"));
    let (job, since) = (query.raw("job"), query.raw("since"));
    let (chips, problems, first) = (query.chips(), query.problems(), query.first());
    view! {
        <Frame title="Events">
            <PageHead title="Events" lead="What senders told us, once each, and what became of it."/>
            <div class="filters">
                <ViewLinks label="Views" links/>
                <FilterBar action="/events" what="events">
                    <SelectField name="state" label="State" choices=choices("any", EventState::ALL) selected/>
                    <Field name="source" label="Source" value=source/>
                    <Field name="kind" label="Kind" value=kind/>
                    <Field name="job" label="Job id" value=job/>
                    <Field name="since" label="Accepted since" kind="date" value=since/>
                </FilterBar>
                <Chips chips clear_href="/events"/>
                <SavedViews query=query.clone()/>
            </div>
            <Problems problems/>
            <LiveBar topic="events" what="events" href=first/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Event) -> impl IntoView {
    let contradicted = row.contradicted;
    let tone = if contradicted {
        Tone::Stop
    } else {
        event_tone(row.state)
    };
    let detail = format!("{} · {}", row.source_slug, row.key);
    let detail = view! { {detail} }.into_any();
    let reason = row.reason.as_deref().map(event_reason);
    let job = match row.job {
        Some((_, job)) => {
            let href = format!("/jobs/{job}#{}", row.id);
            view! { <Id value=job.to_string() href bare=true/> }.into_any()
        }
        None => view! { <span class="muted">"not found"</span> }.into_any(),
    };
    let deliveries = 1 + row.duplicates + row.conflicts;
    let more = match (row.duplicates, row.conflicts) {
        (0, 0) => None,
        (n, 0) => Some(crate::words::count(n, "duplicate", "duplicates")),
        (_, n) => Some(format!("{n} with other content")),
    };
    view! {
        <tr data-tone=mark(tone)>
            <RowLink href=format!("/events/{}", row.id) detail>{row.kind}</RowLink>
            <td>
                <StateBadge tone=event_tone(row.state) label=titled(row.state.as_str())/>
                {reason.map(|reason| view! { <span class="detail">{reason}</span> })}
            </td>
            <td>{job}</td>
            <td>{deliveries}{more.map(|more| view! { <span class="detail">{more}</span> })}</td>
            <td class="age"><Time at=row.received_at style=TimeStyle::Age/></td>
        </tr>
    }
}
