//! The list of jobs: views, filters, chips, one table, pages.

use app::shell::Frame;
use app::ui::*;
use leptos::prelude::*;

use super::{at, usd};

struct Row {
    id: &'static str,
    model: &'static str,
    tenant: &'static str,
    tone: Tone,
    state: &'static str,
    settlement: &'static str,
    held: &'static str,
    captured: &'static str,
    accepted: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        id: "job_019ad0c2f0017e539d2b6c1f00aa9k1x",
        model: "flux-tiny",
        tenant: "acme",
        tone: Tone::Moving,
        state: "Running",
        settlement: "reserved",
        held: "0.05",
        captured: "0",
        accepted: "2026-11-30T13:16:51Z",
    },
    Row {
        id: "job_019ad0c2a7f17e539d2b6c1f00aa7q2m",
        model: "flux-tiny",
        tenant: "acme",
        tone: Tone::Good,
        state: "Completed",
        settlement: "captured",
        held: "0",
        captured: "0.042",
        accepted: "2026-11-30T13:12:58Z",
    },
    Row {
        id: "job_019ad0c29c3a7e539d2b6c1f00aa44pd",
        model: "whisper-large",
        tenant: "northwind",
        tone: Tone::Good,
        state: "Completed",
        settlement: "captured",
        held: "0",
        captured: "1.2875",
        accepted: "2026-11-30T13:12:31Z",
    },
    Row {
        id: "job_019ad0c27b117e539d2b6c1f00aa20zt",
        model: "veo-draft",
        tenant: "contoso",
        tone: Tone::Attention,
        state: "Completed",
        settlement: "conflict on event",
        held: "12",
        captured: "0",
        accepted: "2026-11-30T13:11:02Z",
    },
    Row {
        id: "job_019ad0c25e907e539d2b6c1f00aa1m8e",
        model: "flux-tiny",
        tenant: "acme",
        tone: Tone::Neutral,
        state: "Failed",
        settlement: "released",
        held: "0",
        captured: "0",
        accepted: "2026-11-30T13:10:40Z",
    },
    Row {
        id: "job_019ad0c241777e539d2b6c1f00aa88cn",
        model: "llama-70b-batch",
        tenant: "fabrikam",
        tone: Tone::Good,
        state: "Completed",
        settlement: "captured",
        held: "0",
        captured: "1204.113904",
        accepted: "2026-11-30T13:09:15Z",
    },
    Row {
        id: "job_019ad0c219087e539d2b6c1f00aa02hv",
        model: "veo-draft",
        tenant: "contoso",
        tone: Tone::Stop,
        state: "Blocked",
        settlement: "nothing reserved",
        held: "0",
        captured: "0",
        accepted: "2026-11-30T13:07:44Z",
    },
    Row {
        id: "job_019ad0c1fa3c7e539d2b6c1f00aa5wqy",
        model: "flux-tiny",
        tenant: "acme",
        tone: Tone::Neutral,
        state: "Cancelled",
        settlement: "released",
        held: "0",
        captured: "0",
        accepted: "2026-11-30T13:05:02Z",
    },
];

fn row(row: &'static Row) -> impl IntoView {
    let detail = view! { {row.model}" · "{row.tenant} }.into_any();
    let mark = match row.tone {
        Tone::Attention | Tone::Stop => Some(row.tone.as_str()),
        _ => None,
    };
    view! {
        <tr data-tone=mark>
            <RowLink href=format!("/jobs/{}", row.id) detail><Id value=row.id bare=true/></RowLink>
            <td>
                <StateBadge tone=row.tone label=row.state/>
                <span class="detail">{row.settlement}</span>
            </td>
            <td class="num"><Amount value=usd(row.held) places=6/></td>
            <td class="num"><Amount value=usd(row.captured) places=6/></td>
            <td class="age"><Time at=at(row.accepted) style=TimeStyle::Age/></td>
        </tr>
    }
}

fn filters() -> impl IntoView {
    let link = |label: &str, href: &str, current| ViewLink {
        label: label.into(),
        href: href.into(),
        current,
    };
    let links = vec![
        link("All", "/jobs", false),
        link("Needs attention", "/jobs?view=attention", false),
        link("In flight", "/jobs?view=open", false),
        link("Unsettled over 24 h", "/jobs?view=late", false),
    ];
    let states = [
        "any",
        "running",
        "completed",
        "failed",
        "cancelled",
        "blocked",
    ];
    let choices = states
        .map(|state| Choice::new(if state == "any" { "" } else { state }, state))
        .to_vec();
    let chips = vec![
        Chip {
            label: "tenant".into(),
            value: "acme, northwind, contoso, fabrikam".into(),
            remove_href: "/jobs?since=today".into(),
        },
        Chip {
            label: "since".into(),
            value: "today".into(),
            remove_href: "/jobs?tenant=acme".into(),
        },
    ];
    view! {
        <div class="filters">
            <ViewLinks label="Views" links/>
            <FilterBar action="/jobs" what="jobs">
                <SelectField name="state" label="State" choices/>
                <Field name="tenant" label="Tenant" value="acme"/>
                <Field name="since" label="Accepted since" kind="date"/>
            </FilterBar>
            <Chips chips clear_href="/jobs"/>
        </div>
    }
}

pub(crate) fn page() -> AnyView {
    let columns = vec![
        Column::text("Job"),
        Column::text("State"),
        Column::num("Held"),
        Column::num("Captured"),
        Column::text("Accepted").sorted(SortOrder::Descending),
    ];
    view! {
        <Frame title="Jobs">
            <PageHead
                title="Jobs"
                lead="Asynchronous work and what it settled to."
                actions=view! { <LiveBar topic="jobs" what="jobs" href="/jobs"/> }.into_any()
            />
            {filters()}
            <DataTable id="jobs" caption="Jobs, newest first" columns>
                {ROWS.iter().map(row).collect_view()}
            </DataTable>
            <Pager shown="8 jobs, 14:16 to 14:05" newer=None older=Some("/jobs?after=x".to_owned())/>
        </Frame>
    }
    .into_any()
}

pub(crate) fn empty_page() -> AnyView {
    view! {
        <Frame title="Jobs">
            <PageHead title="Jobs" lead="Asynchronous work and what it settled to."/>
            {filters()}
            <EmptyState
                kind=EmptyKind::NoMatch
                title="No job matches these filters"
                action_href="/jobs"
                action="Clear all filters"
            >
                "Two filters are active. Jobs keep their state for ever, so a wider date may find it."
            </EmptyState>
        </Frame>
    }
    .into_any()
}
