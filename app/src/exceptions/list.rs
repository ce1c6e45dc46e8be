//! `/exceptions`: what is wrong, whose it is, and taking or putting off many at once.

use domain::exception::{Class, State};
use domain::id::OperatorId;
use domain::task::Kind;
use engine::exception::views::{self, Exception, Filter};
use leptos::prelude::*;

use super::words::{figure, title, tone};
use crate::context::{may_act, page};
use crate::list::{Export, NoRows, Pages, Problems, Query, SavedViews, choices, mark, neighbours};
use crate::shell::{Frame, FrameData};
use crate::tasks::AboutAll;
use crate::ui::{
    Button, Chips, Column, DataTable, Field, FilterBar, Id, PageHead, RowLink, SelectField,
    StateBadge, Time, TimeStyle, ViewLinks,
};

/// `/exceptions`
#[component]
pub fn ExceptionsPage() -> AnyView {
    let frame = FrameData::current();
    let mut query = Query::read("/exceptions", &["state", "class", "owner", "asks"]);
    let asks = query.parsed::<bool>("asks").unwrap_or(false);
    let filter = Filter {
        state: query.parsed::<State>("state"),
        class: query.parsed::<Class>("class"),
        owner: query.parsed::<OperatorId>("owner"),
        asks_at: asks.then_some(frame.now),
    };
    let cursor = query.cursor::<i64>();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let found = views::list(&mut books, &filter, cursor).await?;
        let (newer, older) = neighbours(&query, &found, |row: &Exception| row.id);
        let keys = (0..2).map(|_| engine.mint().simple().to_string()).collect();
        Ok(view! { <Exceptions query rows=found.rows newer older keys/> }.into_any())
    })
}

#[component]
fn Exceptions(
    query: Query,
    rows: Vec<Exception>,
    newer: Option<String>,
    older: Option<String>,
    keys: Vec<String>,
) -> AnyView {
    let mut keys = keys.into_iter();
    let (key, all) = (keys.next(), keys.next().unwrap_or_default());
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <NoRows
                query=query.clone()
                what="exceptions"
                nothing="Reconciliation checks every truth about the books; what does not hold stands here until it does."
            />
        }
        .into_any()
    } else {
        let columns = vec![
            Column::text("What is wrong"),
            Column::text("Choose"),
            Column::text("State"),
            Column::num("Expected"),
            Column::num("There is"),
            Column::text("Owner"),
            Column::text("First seen"),
        ];
        let rows = rows.into_iter().map(line).collect_view();
        let bulk = may_act().then(bulk);
        view! {
            <form method="post" action="/exceptions/act" class="stack">
                <input type="hidden" name="key" value=key/>
                <DataTable id="exceptions" caption="Exceptions, newest first" columns>{rows}</DataTable>
                {bulk}
            </form>
            <AboutAll query=query.clone() kind=Kind::Repair key=all/>
            <Pages rows=shown what=("exception", "exceptions") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    view! {
        <Frame title="Exceptions">
            <PageHead
                title="Exceptions"
                lead="What is wrong in the books, one for each thing. Nothing is closed by hand: the run that finds it right closes it."
            />
            <Filters query=query.clone()/>
            <Problems problems=query.problems()/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Exception) -> impl IntoView {
    let now = FrameData::current().now;
    let tone = tone(&row);
    let snoozed = row.snoozed_until.filter(|until| *until > now);
    let late = row.state == State::Open && row.due_at < now && snoozed.is_none();
    let label = match (row.state, snoozed) {
        (State::Closed, _) => "Closed",
        (State::Open, Some(_)) => "Put off",
        (State::Open, None) if late => "Overdue",
        (State::Open, None) => "Open",
    };
    let whose = row.tenant.map(|(_, name)| format!(" · {name}"));
    let detail = view! { <Id value=row.subject.clone() bare=true/>{whose} }.into_any();
    let owner = match row.owner {
        Some((_, name)) => view! { {name} }.into_any(),
        None => view! { <span class="muted">"nobody"</span> }.into_any(),
    };
    let id = row.id;
    view! {
        <tr id=format!("exc_{id}") data-tone=mark(tone)>
            <RowLink href=format!("/exceptions/exc_{id}") detail>{title(row.class)}</RowLink>
            <td><input type="checkbox" name="id" value=id.to_string() aria-label=format!("Choose exc_{id}")/></td>
            <td><StateBadge tone label/></td>
            <td class="num">{figure(row.expected, row.currency)}</td>
            <td class="num">{figure(row.actual, row.currency)}</td>
            <td>{owner}</td>
            <td class="age"><Time at=row.first_seen_at style=TimeStyle::Age/></td>
        </tr>
    }
}

/// What is done with everything that is chosen.
fn bulk() -> AnyView {
    view! {
        <fieldset class="form">
            <legend>"With those chosen"</legend>
            <Field name="until" label="Put off until" kind="date" hint="The beginning of that day, UTC."/>
            <div class="submit">
                <Button name="step" value="take">"Take"</Button>
                <Button name="step" value="give_back">"Give back"</Button>
                <Button name="step" value="snooze">"Put off"</Button>
                <Button name="step" value="repair">"Put right…"</Button>
            </div>
        </fieldset>
    }
    .into_any()
}

#[component]
fn Filters(query: Query) -> AnyView {
    let me = FrameData::current()
        .operator
        .map(|operator| operator.id.to_string())
        .unwrap_or_default();
    let links = vec![
        query.view("All", &[]),
        query.view("Ask for attention", &[("asks", "true")]),
        query.view("Mine", &[("state", "open"), ("owner", &me)]),
        query.view("Closed", &[("state", "closed")]),
    ];
    let (state, class) = (query.raw("state"), query.raw("class"));
    view! {
        <div class="filters">
            <ViewLinks label="Views" links/>
            <FilterBar action="/exceptions" what="exceptions">
                <SelectField name="state" label="State" choices=choices("any", State::ALL) selected=state/>
                <SelectField name="class" label="What should hold" choices=choices("any", Class::ALL) selected=class/>
            </FilterBar>
            <Chips chips=query.chips() clear_href="/exceptions"/>
            <SavedViews query=query.clone()/>
        </div>
    }
    .into_any()
}
