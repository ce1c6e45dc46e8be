//! `/audit`

use engine::audit::views::{self, Entry, Filter};
use leptos::prelude::*;

use crate::context::page;
use crate::list::{Export, NoRows, Pages, Problems, Query, SavedViews, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Button, Chips, Column, DataTable, Field, FilterBar, Id, JsonView, PageHead, SortOrder, Time,
    TimeStyle, ViewLinks,
};
use crate::words::titled;

/// The nouns that actions begin with, as views.
const NOUNS: [(&str, &str); 5] = [
    ("Sessions", "session"),
    ("Payloads read", "payload"),
    ("Sources", "source"),
    ("Wallets", "wallet"),
    ("Prices", "price"),
];

/// `/audit`
#[component]
pub fn AuditPage() -> AnyView {
    let mut query = Query::read("/audit", &["actor", "action", "object", "since"]);
    let filter = Filter {
        actor: query.text("actor"),
        action: query.text("action"),
        object: query.text("object"),
        since: query.day("since"),
    };
    let cursor = query.cursor();
    page(|engine| async move {
        let mut books = engine.snapshot().await?;
        let list = views::list(&mut books, &filter, cursor).await?;
        let (newer, older) = neighbours(&query, &list, |row: &Entry| row.number);
        Ok(view! { <Audit query rows=list.rows newer older/> }.into_any())
    })
}

#[component]
fn Audit(query: Query, rows: Vec<Entry>, newer: Option<String>, older: Option<String>) -> AnyView {
    let mut links = vec![query.view("All", &[])];
    links.extend(NOUNS.map(|(label, noun)| query.view(label, &[("action", noun)])));
    let (actor, action, object) = (query.raw("actor"), query.raw("action"), query.raw("object"));
    let (chips, problems) = (query.chips(), query.problems());
    let since = query.raw("since");
    let saved = view! { <SavedViews query=query.clone()/> };
    let table = table(query, rows, newer, older);
    let actions = view! {
        <form method="post" action="/audit/check"><Button>"Check the chain"</Button></form>
    }
    .into_any();
    view! {
        <Frame title="Audit">
            <PageHead
                title="Audit"
                lead="Who did what, and why. Each line is sealed with the one before it, so nothing can be changed or taken out unseen."
                actions
            />
            <div class="filters">
                <ViewLinks label="Views" links/>
                <FilterBar action="/audit" what="audit">
                    <Field name="actor" label="Who" value=actor/>
                    <Field name="action" label="What" value=action/>
                    <Field name="object" label="Object" value=object/>
                    <Field name="since" label="Since" kind="date" value=since/>
                </FilterBar>
                <Chips chips clear_href="/audit"/>
                {saved}
            </div>
            <Problems problems/>
            {table}
        </Frame>
    }
    .into_any()
}

fn table(query: Query, rows: Vec<Entry>, newer: Option<String>, older: Option<String>) -> AnyView {
    if rows.is_empty() {
        return view! {
            <NoRows query what="lines" nothing="Signing in, reading a payload and every change of the set-up are noted here."/>
        }
        .into_any();
    }
    let columns = vec![
        Column::text("What"),
        Column::text("Object"),
        Column::text("Who"),
        Column::text("Why, and detail"),
        Column::text("When").sorted(SortOrder::Descending),
    ];
    let shown = rows.len();
    let rows = rows.into_iter().map(line).collect_view();
    view! {
        <DataTable id="audit" caption="Audit log, newest first" columns>{rows}</DataTable>
        <Pages rows=shown what=("line", "lines") newer older/>
        <Export query/>
    }
    .into_any()
}

fn line(row: Entry) -> impl IntoView {
    let href = place_of(&row.object);
    let detail = (row.detail != serde_json::json!({})).then(|| {
        view! { <JsonView title=format!("Detail of line {}", row.number) raw=row.detail.to_string()/> }
    });
    let request = row
        .request_id
        .map(|id| view! { <span class="detail">"request "<Id value=id bare=true/></span> });
    let words = titled(&row.action.replace('.', " "));
    view! {
        <tr id=format!("line-{}", row.number)>
            <th scope="row">{words}<span class="detail">"line "{row.number}</span></th>
            <td>
                {match href {
                    Some(href) => view! { <Id value=row.object href bare=true/> }.into_any(),
                    None => view! { <Id value=row.object bare=true/> }.into_any(),
                }}
            </td>
            <td>{row.actor}{request}</td>
            <td>{row.reason}{detail}</td>
            <td class="age"><Time at=row.at style=TimeStyle::Stamp/></td>
        </tr>
    }
}

/// Where an object is shown, if it has a page.
fn place_of(object: &str) -> Option<String> {
    let (kind, _) = object.split_once('_')?;
    let list = match kind {
        "job" => "jobs",
        "evt" => "events",
        "stl" => "settlements",
        "wallet" => "wallets",
        _ => return None,
    };
    Some(format!("/{list}/{object}"))
}

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn objects_with_a_page_are_linked() {
        assert_eq!(place_of("evt_7").as_deref(), Some("/events/evt_7"));
        assert_eq!(place_of("operator_0190"), None);
        assert_eq!(place_of("replicate"), None);
    }
}
