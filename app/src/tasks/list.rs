//! `/tasks`: every task, newest first.

use domain::id::TaskId;
use engine::task::views::{self, Task};
use leptos::prelude::*;
use uuid::Uuid;

use super::words::{headline, state};
use crate::context::page;
use crate::list::{Export, Pages, Problems, Query, mark, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Column, DataTable, EmptyKind, EmptyState, PageHead, RowLink, StateBadge, Time, TimeStyle,
};

/// `/tasks`
#[component]
pub fn TasksPage() -> AnyView {
    let mut query = Query::read("/tasks", &[]);
    let cursor = query.cursor::<Uuid>();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let found = views::list(&mut books, cursor.map(TaskId)).await?;
        let (newer, older) = neighbours(&query, &found, |row: &Task| row.id.0);
        Ok(view! { <Tasks query rows=found.rows newer older/> }.into_any())
    })
}

#[component]
fn Tasks(query: Query, rows: Vec<Task>, newer: Option<String>, older: Option<String>) -> AnyView {
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="There was no task yet">
                "A task does one thing with many events or exceptions: choose them in their list."
            </EmptyState>
        }
        .into_any()
    } else {
        let columns = vec![
            Column::text("Task"),
            Column::text("State"),
            Column::text("Chosen"),
            Column::text("By"),
            Column::text("Made"),
        ];
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="tasks" caption="Tasks, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("task", "tasks") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    view! {
        <Frame title="Tasks">
            <PageHead
                title="Tasks"
                lead="One decision about many things: frozen as they were chosen, rehearsed before, and each done once."
            />
            <Problems problems=query.problems()/>
            {table}
        </Frame>
    }
    .into_any()
}

fn line(row: Task) -> impl IntoView {
    let (tone, label) = state(&row);
    let (made, title, href) = (row.made_at, headline(&row), format!("/tasks/{}", row.id));
    let (id, chosen) = (row.id.to_string(), row.chosen);
    let by = row.started.map_or(row.made_by, |(by, _)| by);
    view! {
        <tr id=id data-tone=mark(tone)>
            <RowLink href>{title}</RowLink>
            <td><StateBadge tone label/></td>
            <td>{chosen}</td>
            <td>{by}</td>
            <td class="age"><Time at=made style=TimeStyle::Age/></td>
        </tr>
    }
}
