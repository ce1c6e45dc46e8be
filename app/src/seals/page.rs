//! `/seals`

use engine::page::Cursor;
use engine::seal::views::{Seal, list};
use leptos::prelude::*;

use crate::context::page;
use crate::list::{Export, Pages, Problems, Query, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, Id, PageHead, SortOrder, Time, TimeStyle,
};
use crate::words::count;

/// `/seals`
#[component]
pub fn SealsPage() -> AnyView {
    let mut query = Query::read("/seals", &[]);
    let cursor: Cursor<i64> = query.cursor();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let found = list(&mut books, cursor).await?;
        let (newer, older) = neighbours(&query, &found, |seal: &Seal| seal.number);
        Ok(view! { <Seals query rows=found.rows newer older/> }.into_any())
    })
}

#[component]
fn Seals(query: Query, rows: Vec<Seal>, newer: Option<String>, older: Option<String>) -> AnyView {
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="Nothing is sealed yet">
                "What is posted is sealed within a minute, by the process that has the role scheduler."
            </EmptyState>
        }
        .into_any()
    } else {
        let columns = vec![
            Column::text("Seal").sorted(SortOrder::Descending),
            Column::num("Added"),
            Column::num("Leaves"),
            Column::text("Root"),
            Column::text("Sealed"),
        ];
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="seals" caption="Seals, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("seal", "seals") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    view! {
        <Frame title="Seals">
            <PageHead
                title="Seals"
                lead="A root stands for every transfer and settlement up to its seal, in both modes. Note the newest elsewhere: whoever changes history below the application cannot change that note."
            />
            <div class="stack">
                <Problems problems=query.problems()/>
                {table}
            </div>
        </Frame>
    }
    .into_any()
}

fn line(seal: Seal) -> impl IntoView {
    let postings = (seal.posting_to > seal.posting_from)
        .then(|| format!("postings {} to {}", seal.posting_from + 1, seal.posting_to));
    let unmoved = (seal.unmoved > 0).then(|| {
        let settlements = count(seal.unmoved, "settlement", "settlements");
        format!("{settlements} without transfers")
    });
    let holds: Vec<_> = [postings, unmoved].into_iter().flatten().collect();
    view! {
        <tr id=format!("seal_{}", seal.number)>
            <th scope="row">
                {format!("#{}", seal.number)}
                <span class="detail">{holds.join(", ")}</span>
            </th>
            <td class="num">{seal.added()}</td>
            <td class="num">{seal.leaves}</td>
            <td><Id value=seal.root.to_string() what="root"/></td>
            <td class="age"><Time at=seal.sealed_at style=TimeStyle::Age/></td>
        </tr>
    }
}
