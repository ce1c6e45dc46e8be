//! `/statements`: what was uploaded, and the form that uploads.

use domain::id::StatementId;
use engine::statement::views::{self, Filter, Source, Statement};
use leptos::prelude::*;

use super::words::standing;
use crate::context::{may_act, page};
use crate::list::{Export, NoRows, Pages, Problems, Query, SavedViews, livemode, mark, neighbours};
use crate::shell::Frame;
use crate::ui::{
    Button, ButtonKind, Chips, Choice, Column, DataTable, Field, FilterBar, PageHead, RowLink,
    Section, SelectField, StateBadge, Time, TimeStyle, ViewLinks,
};
use crate::words::count;

/// `/statements`
#[component]
pub fn StatementsPage() -> AnyView {
    let mut query = Query::read("/statements", &["source", "accepted"]);
    let filter = Filter {
        livemode: Some(livemode()),
        source: query.text("source"),
        accepted: query.parsed("accepted"),
    };
    let cursor = query.cursor::<i64>();
    page(move |engine| async move {
        let mut books = engine.snapshot().await?;
        let found = views::list(&mut books, &filter, cursor).await?;
        let sources = views::sources(&mut books, livemode()).await?;
        let (newer, older) = neighbours(&query, &found, |row: &Statement| row.number);
        let key = StatementId(engine.mint());
        Ok(view! { <Statements query rows=found.rows newer older sources key/> }.into_any())
    })
}

#[component]
fn Statements(
    query: Query,
    rows: Vec<Statement>,
    newer: Option<String>,
    older: Option<String>,
    sources: Vec<Source>,
    key: StatementId,
) -> AnyView {
    let shown = rows.len();
    let table = if rows.is_empty() {
        view! {
            <NoRows
                query=query.clone()
                what="statements"
                nothing="A statement is what a provider says it did or billed in a period. Uploaded here, it is held against our usage."
            />
        }
        .into_any()
    } else {
        let columns = vec![
            Column::text("Period"),
            Column::text("State"),
            Column::num("Lines"),
            Column::num("Disagree"),
            Column::text("Uploaded by"),
            Column::text("Uploaded"),
        ];
        let rows = rows.into_iter().map(line).collect_view();
        view! {
            <DataTable id="statements" caption="Statements, newest first" columns>{rows}</DataTable>
            <Pages rows=shown what=("statement", "statements") newer older/>
            <Export query=query.clone()/>
        }
        .into_any()
    };
    let links = vec![
        query.view("All", &[]),
        query.view("Accepted", &[("accepted", "true")]),
        query.view("Refused", &[("accepted", "false")]),
    ];
    let filter = source_choices("any", &sources);
    let selected = query.raw("source");
    let form = may_act().then(|| form(&sources, key));
    view! {
        <Frame title="Statements">
            <PageHead
                title="Statements"
                lead="What providers say they did or billed, against our usage. Every full run checks the newest of each period again."
            />
            <div class="filters">
                <ViewLinks label="Views" links/>
                <FilterBar action="/statements" what="statements">
                    <SelectField name="source" label="Source" choices=filter selected/>
                </FilterBar>
                <Chips chips=query.chips() clear_href="/statements"/>
                <SavedViews query=query.clone()/>
            </div>
            <Problems problems=query.problems()/>
            <div class="stack">
                {table}
                {form}
            </div>
        </Frame>
    }
    .into_any()
}

fn line(row: Statement) -> impl IntoView {
    let (tone, label) = standing(&row);
    let detail = format!("{} · {}", row.source, row.file_name);
    let detail = view! { {detail} }.into_any();
    let period = format!("{} to {}", row.period.from(), row.period.to());
    let disagree = match &row.check {
        Some((_, tally)) => tally.alarms().to_string(),
        None => count(row.errors, "error", "errors"),
    };
    let by = row.uploaded_by.unwrap_or_else(|| "command line".to_owned());
    view! {
        <tr data-tone=mark(tone)>
            <RowLink href=format!("/statements/{}", row.id) detail>{period}</RowLink>
            <td><StateBadge tone label/></td>
            <td class="num">{row.lines}</td>
            <td class="num">{disagree}</td>
            <td>{by}</td>
            <td class="age"><Time at=row.uploaded_at style=TimeStyle::Age/></td>
        </tr>
    }
}

fn source_choices(none: &str, sources: &[Source]) -> Vec<Choice> {
    let sources = sources
        .iter()
        .map(|source| Choice::new(source.slug.clone(), source.slug.clone()));
    std::iter::once(Choice::new("", none))
        .chain(sources)
        .collect()
}

/// The form: fields before the file, as they are read.
fn form(sources: &[Source], key: StatementId) -> AnyView {
    let choices = source_choices("choose", sources);
    view! {
        <Section title="Upload a statement" id="upload">
            <form class="form" method="post" action="/statements" enctype="multipart/form-data">
                <input type="hidden" name="key" value=key.to_string()/>
                <SelectField name="statement_source" label="Source" choices/>
                <Field name="from" label="First day" kind="date" required=true hint="Days are in UTC."/>
                <Field
                    name="to"
                    label="Day after the last"
                    kind="date"
                    required=true
                    hint="For November it is 1 December. The same period again corrects the statement before."
                />
                <Field
                    name="absolute"
                    label="Allowed difference, in units"
                    value="0"
                    inputmode="decimal"
                    autocomplete="off"
                    maxlength=32
                />
                <Field
                    name="relative"
                    label="Allowed difference, as a share"
                    value="0"
                    inputmode="decimal"
                    autocomplete="off"
                    maxlength=32
                    hint="Of the larger side: 0.01 is one in a hundred. Either bound suffices."
                />
                <Field
                    name="file"
                    label="File"
                    kind="file"
                    required=true
                    hint="CSV with a line of column names, or JSON; up to 16 MiB. Columns: reference or job, meter, quantity; if known id, occurred_at, amount with currency."
                />
                <div class="submit">
                    <Button kind=ButtonKind::Primary>"Upload and check"</Button>
                </div>
            </form>
        </Section>
    }
    .into_any()
}
