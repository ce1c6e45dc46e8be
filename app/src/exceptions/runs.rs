//! `/reconciliation`: the runs, and starting one.

use domain::exception::{Cause, Outcome, Reach};
use engine::page::Cursor;
use engine::reconcile::views::{Run, runs};
use leptos::prelude::*;

use crate::context::{may_act, page};
use crate::list::{Export, Pages, Problems, Query, mark, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Button, ButtonKind, Column, DataTable, EmptyKind, EmptyState, PageHead, StateBadge, Time,
    TimeStyle, Tone,
};
use crate::words::{count, span, titled};

/// `/reconciliation`
#[component]
pub fn ReconciliationPage() -> AnyView {
    let mut query = Query::read("/reconciliation", &[]);
    let cursor: Cursor<i64> = query.cursor();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let found = runs(&mut books, cursor).await?;
        let (newer, older) = neighbours(&query, &found, |row: &Run| row.run);
        Ok(view! { <Runs query rows=found.rows newer older/> }.into_any())
    })
}

#[component]
fn Runs(query: Query, rows: Vec<Run>, newer: Option<String>, older: Option<String>) -> AnyView {
    let start = may_act().then(|| {
        view! {
            <form method="post" action="/reconciliation/run">
                <Button kind=ButtonKind::Primary>"Check everything now"</Button>
            </form>
        }
    });
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="There was no run yet">
                "The scheduler starts one every quarter of an hour; you may start one now."
            </EmptyState>
        }
        .into_any()
    } else {
        let columns = vec![
            Column::text("Run"),
            Column::text("Outcome"),
            Column::text("Looked at"),
            Column::num("Checks"),
            Column::num("Rows"),
            Column::num("Took"),
            Column::text("Began"),
        ];
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="runs" caption="Runs, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("run", "runs") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    view! {
        <Frame title="Reconciliation">
            <PageHead
                title="Reconciliation"
                lead="Every truth about the books, checked on one snapshot while work goes on: what is new each time, and everything once a day and while something is wrong. What does not hold becomes an exception."
            />
            <div class="stack">
                {start}
                <Problems problems=query.problems()/>
                {table}
            </div>
        </Frame>
    }
    .into_any()
}

fn line(row: Run) -> impl IntoView {
    let tone = match row.outcome {
        Outcome::Running => Tone::Moving,
        Outcome::InOrder => Tone::Good,
        Outcome::Exceptions | Outcome::Failed => Tone::Stop,
        Outcome::Abandoned => Tone::Neutral,
    };
    let label = match (row.outcome, row.found) {
        (Outcome::Exceptions, Some(found)) => count(found, "exception", "exceptions"),
        (outcome, _) => titled(outcome.as_str()),
    };
    let moved = row.opened.zip(row.closed).filter(|moved| *moved != (0, 0));
    let moved = moved.map(|(opened, closed)| {
        view! { <span class="detail">{format!("{opened} new, {closed} right again")}</span> }
    });
    let cause = match (row.cause, row.by) {
        (Cause::OnDemand, Some(name)) => format!("asked for by {name}"),
        (Cause::OnDemand, None) => "asked for".to_owned(),
        (Cause::Scheduled, _) => "scheduled".to_owned(),
        (Cause::CommandLine, _) => "from the command line".to_owned(),
    };
    let took = row
        .finished_at
        .map(|finished| span(finished - row.started_at));
    let number = |value: Option<i64>| value.map(|value| value.to_string());
    view! {
        <tr id=format!("run_{}", row.run) data-tone=mark(tone)>
            <th scope="row">{row.run}<span class="detail">{cause}</span></th>
            <td><StateBadge tone label/>{moved}</td>
            <td>{match row.reach { Reach::Full => "everything", Reach::Incremental => "what is new" }}</td>
            <td class="num">{row.checks}</td>
            <td class="num">{number(row.examined)}</td>
            <td class="num">{took}</td>
            <td class="age"><Time at=row.started_at style=TimeStyle::Age/></td>
        </tr>
    }
}
