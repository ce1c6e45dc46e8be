//! `/jobs`: views, filters, chips, one table, pages by key.

use domain::id::TenantId;
use domain::job::{SettlementState, State};
use engine::job::views::all::{self, Filter, Row};
use leptos::prelude::*;

use crate::context::page;
use crate::list::{
    Export, NoRows, Pages, Problems, Query, SavedViews, choices, livemode, mark, neighbours,
};
use crate::shell::Frame;
use crate::ui::{
    Amount, Chips, Choice, Column, DataTable, Field, FilterBar, Id, LiveBar, PageHead, RowLink,
    SelectField, SortOrder, StateBadge, Time, TimeStyle, ViewLink, ViewLinks,
};
use crate::words::{job_tone, money, settlement_words, titled};

const FILTERS: [&str; 8] = [
    "state",
    "settlement",
    "tenant",
    "wallet",
    "model",
    "since",
    "until",
    "in_flight",
];

/// `/jobs`
#[component]
pub fn JobsPage() -> AnyView {
    let mut query = Query::read("/jobs", &FILTERS);
    let filter = Filter {
        livemode: livemode(),
        state: query.parsed("state"),
        in_flight: query.parsed::<bool>("in_flight").unwrap_or(false),
        settlement: query.parsed("settlement"),
        tenant: query.parsed("tenant"),
        wallet: query.parsed("wallet"),
        model: query.text("model"),
        since: query.day("since"),
        until: query.day("until"),
    };
    let cursor = query.cursor();
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let tenants = engine::tenant::views::names(&mut books).await?;
        let jobs = all::list(&mut books, &filter, cursor).await?;
        if let Some(wanted) = filter.tenant {
            let name = tenants.iter().find(|(tenant, _)| *tenant == wanted);
            query.name_chip("tenant", name.map_or("unknown", |(_, name)| name));
        }
        let (newer, older) = neighbours(&query, &jobs, |row: &Row| row.job.0);
        Ok(view! { <Jobs query tenants rows=jobs.rows newer older/> }.into_any())
    })
}

#[component]
fn Jobs(
    query: Query,
    tenants: Vec<(TenantId, String)>,
    rows: Vec<Row>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    let columns = vec![
        Column::text("Job"),
        Column::text("State"),
        Column::num("Held"),
        Column::num("Captured"),
        Column::text("Accepted").sorted(SortOrder::Descending),
    ];
    let places = crate::job::places(
        rows.iter()
            .flat_map(|row| [row.held.value(), row.captured.value()]),
    );
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <NoRows
                query=query.clone()
                what="jobs"
                nothing="Jobs appear when a product submits them over the API: POST /v1/jobs."
            />
        }
        .into_any()
    } else {
        let rows = rows.into_iter().map(|row| line(row, places)).collect_view();
        view! {
            <DataTable id="jobs" caption="Jobs, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("job", "jobs") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    view! {
        <Frame title="Jobs">
            <PageHead title="Jobs" lead="Asynchronous work, and what it settled to."/>
            <Filters query=query.clone() tenants/>
            <Problems problems=query.problems()/>
            <LiveBar topic="jobs" what="jobs" href=query.first()/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Row, places: u8) -> impl IntoView {
    let tone = job_tone(row.state);
    let detail = view! { {row.model}" · "{row.tenant_name} }.into_any();
    let what = match (
        row.state_reason,
        row.cancel_requested && row.state.in_flight(),
    ) {
        (_, true) => "cancel requested".into(),
        (Some(reason), _) => reason,
        (None, _) => settlement_words(row.settlement).to_owned(),
    };
    view! {
        <tr data-tone=mark(tone)>
            <RowLink href=format!("/jobs/{}", row.job) detail>
                <Id value=row.job.to_string() bare=true/>
            </RowLink>
            <td>
                <StateBadge tone label=titled(row.state.as_str())/>
                <span class="detail">{what}</span>
            </td>
            <td class="num"><Amount value=money(row.held) places/></td>
            <td class="num"><Amount value=money(row.captured) places/></td>
            <td class="age"><Time at=row.submitted_at style=TimeStyle::Age/></td>
        </tr>
    }
}

#[component]
fn Filters(query: Query, tenants: Vec<(TenantId, String)>) -> AnyView {
    let links = vec![
        query.view("All", &[]),
        query.view("In flight", &[("in_flight", "true")]),
        query.view("Delivering", &[("state", State::Delivering.as_str())]),
        query.view("Failed", &[("state", State::Failed.as_str())]),
        query.view(
            "Adjusted",
            &[("settlement", SettlementState::Adjusted.as_str())],
        ),
        query.view("Blocked", &[("state", State::Blocked.as_str())]),
        ViewLink {
            label: "Unsettled for a day".into(),
            href: "/uncertain?hours=24".into(),
            current: false,
        },
    ];
    let tenants = tenants
        .into_iter()
        .map(|(id, name)| Choice::new(id.to_string(), name));
    let tenants = std::iter::once(Choice::new("", "any"))
        .chain(tenants)
        .collect();
    let (state, settlement) = (query.raw("state"), query.raw("settlement"));
    let (tenant, model, since) = (query.raw("tenant"), query.raw("model"), query.raw("since"));
    view! {
        <div class="filters">
            <ViewLinks label="Views" links/>
            <FilterBar action="/jobs" what="jobs">
                <SelectField
                    name="state"
                    label="State"
                    choices=choices("any", State::ALL)
                    selected=state
                />
                <SelectField
                    name="settlement"
                    label="Settlement"
                    choices=choices("any", SettlementState::ALL)
                    selected=settlement
                />
                <SelectField name="tenant" label="Tenant" choices=tenants selected=tenant/>
                <Field name="model" label="Model" value=model/>
                <Field name="since" label="Accepted since" kind="date" value=since/>
            </FilterBar>
            <Chips chips=query.chips() clear_href="/jobs"/>
            <SavedViews query=query.clone()/>
        </div>
    }
    .into_any()
}
