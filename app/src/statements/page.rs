//! `/statements/{id}`: what was stated, how it compares, and why it was refused.

use domain::id::StatementId;
use domain::statement::Outcome;
use engine::statement::views::{self, GroupLine, Statement};
use engine::statement::{Problem, Tally};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use rust_decimal::Decimal;

use super::words::{meaning, standing, title, tone};
use crate::context::{PageError, page};
use crate::list::{Export, NoRows, Pages, Problems, Query, choices, livemode, neighbours};
use crate::shell::{Crumb, Frame};
use crate::ui::{
    Chips, Column, DataTable, Fact, Figure, Figures, FilterBar, Id, KeyValue, NextStep, ObjectHead,
    Pair, Related, RelatedLink, Section, SelectField, Sentence, StateBadge, Time, TimeStyle,
    number,
};
use crate::words::count;

/// What a page shows of a statement.
struct Shown {
    one: Statement,
    charged: Vec<(String, String)>,
    errors: Vec<Problem>,
    groups: Vec<GroupLine>,
    newer: Option<String>,
    older: Option<String>,
}

/// `/statements/{id}`
#[component]
pub fn StatementPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<StatementId>().ok());
    let place = id.map(|id| format!("/statements/{id}")).unwrap_or_default();
    let mut query = Query::read(place, &["outcome"]);
    let outcome = query.parsed::<Outcome>("outcome");
    let cursor = query.cursor::<i64>();
    page(move |engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let one = views::find(&mut books, id).await?;
        let one = one
            .filter(|one| one.livemode == livemode())
            .ok_or(PageError::NotFound)?;
        let charged = views::charged(&mut books, id).await?;
        let errors = views::errors(&mut books, id).await?;
        let found = views::groups(&mut books, id, outcome, cursor).await?;
        let (newer, older) = neighbours(&query, &found, |row: &GroupLine| row.position);
        let shown = Shown {
            one,
            charged,
            errors,
            groups: found.rows,
            newer,
            older,
        };
        Ok(view! { <Whole query shown/> }.into_any())
    })
}

#[component]
fn Whole(query: Query, shown: Shown) -> AnyView {
    let one = &shown.one;
    let crumbs = vec![
        Crumb::link("Statements", "/statements"),
        Crumb::here(one.id.to_string()),
    ];
    let (head, told, side) = (head(one), told(one), side(one, &shown.charged));
    let counts = one.check.as_ref().map(|(_, tally)| counts(one, tally));
    let title = format!("Statement of {}", one.source);
    let body = if one.accepted {
        let problems = query.problems();
        let filters = filters(&query);
        let groups = groups(query, shown.groups, shown.newer, shown.older);
        view! {
            <Section title="What does not match" id="groups">
                {filters}
                <Problems problems/>
                {groups}
            </Section>
        }
        .into_any()
    } else {
        errors(one.errors, shown.errors)
    };
    view! {
        <Frame title crumbs>
            {head}
            <div class="stack">
                <div class="split">
                    <div class="stack">
                        <Sentence>{told}</Sentence>
                        {counts}
                    </div>
                    {side}
                </div>
                {body}
            </div>
        </Frame>
    }
    .into_any()
}

fn head(one: &Statement) -> AnyView {
    let headline = format!("{} to {}", one.period.from(), one.period.to());
    let headline = view! { {headline} }.into_any();
    let aside = format!("{} · {}", one.source, one.file_name);
    let aside = view! { {aside} }.into_any();
    let (tone, state) = standing(one);
    let (at, lines) = (one.uploaded_at, count(one.lines, "line", "lines"));
    let next = match (&one.check, one.superseded_by) {
        (None, _) if !one.accepted => "The file is corrected and uploaded for the same period",
        (_, Some(_)) => "Nothing is due: a newer statement of the period counts",
        (Some((_, tally)), None) if tally.alarms() > 0 => {
            "The next run opens an exception for each disagreement"
        }
        _ => "Every run checks it again",
    };
    view! {
        <ObjectHead headline aside tone state>
            <Fact>"uploaded "<Time at/></Fact>
            <Fact>{lines}</Fact>
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

fn told(one: &Statement) -> String {
    let lines = count(one.lines, "line", "lines");
    match &one.check {
        None if !one.accepted => format!(
            "The file is refused for {} in {lines}. A statement counts in whole or not at all, so nothing of it does.",
            count(one.errors, "error", "errors")
        ),
        None => format!("{lines} are stored and not checked yet; the next run checks them."),
        Some((_, tally)) if tally.alarms() == 0 => format!(
            "{lines} make {}, and nothing disagrees with our usage.",
            count(tally.groups(), "group", "groups")
        ),
        Some((_, tally)) => format!(
            "{} of {} of a reference and a meter disagree with our usage.",
            tally.alarms(),
            count(tally.groups(), "group", "groups")
        ),
    }
}

fn counts(one: &Statement, tally: &Tally) -> AnyView {
    let figures = Outcome::ALL.iter().map(|outcome| {
        let href = match outcome {
            Outcome::Matched => format!("/statements/{}", one.id),
            outcome => format!("/statements/{}?outcome={outcome}#groups", one.id),
        };
        let note = view! { {meaning(*outcome)} }.into_any();
        let groups = tally.of(*outcome);
        view! { <Figure question=title(*outcome) href note>{groups}</Figure> }
    });
    let figures = figures.collect_view();
    view! { <Figures label="Groups by outcome">{figures}</Figures> }.into_any()
}

fn filters(query: &Query) -> AnyView {
    let path = query.path().to_owned();
    let selected = query.raw("outcome");
    let outcomes: Vec<_> = Outcome::ALL
        .iter()
        .filter(|outcome| **outcome != Outcome::Matched)
        .collect();
    view! {
        <div class="filters">
            <FilterBar action=path.clone() what="groups">
                <SelectField name="outcome" label="Outcome" choices=choices("any", &outcomes) selected/>
            </FilterBar>
            <Chips chips=query.chips() clear_href=path/>
        </div>
    }
    .into_any()
}

fn groups(
    query: Query,
    rows: Vec<GroupLine>,
    newer: Option<String>,
    older: Option<String>,
) -> AnyView {
    if rows.is_empty() {
        if query.is_filtered() {
            return view! { <NoRows query what="groups" nothing=""/> }.into_any();
        }
        return view! { <p class="muted">"Every group is equal on both sides."</p> }.into_any();
    }
    let columns = vec![
        Column::text("Reference"),
        Column::text("Outcome"),
        Column::num("Stated"),
        Column::num("Ours"),
        Column::num("Difference"),
        Column::text("Job"),
    ];
    let shown = rows.len();
    let rows = rows.into_iter().map(line).collect_view();
    view! {
        <DataTable id="groups-table" caption="Groups that do not match, by reference and meter" columns>{rows}</DataTable>
        <Pages rows=shown what=("group", "groups") newer older/>
        <Export query/>
    }
    .into_any()
}

fn line(row: GroupLine) -> impl IntoView {
    let figure = |value: Option<Decimal>| {
        value.map_or_else(|| "—".to_owned(), |value| number(value.normalize()))
    };
    let (ours, theirs) = (row.ours.unwrap_or_default(), row.theirs.unwrap_or_default());
    let job = match row.job {
        Some((_, job)) => {
            view! { <Id value=job.to_string() href=format!("/jobs/{job}") bare=true/> }.into_any()
        }
        None => view! { <span class="muted">"unknown"</span> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row">{row.reference}<span class="detail">{row.meter}</span></th>
            <td><StateBadge tone=tone(row.outcome) label=title(row.outcome)/></td>
            <td class="num">{figure(row.theirs)}</td>
            <td class="num">{figure(row.ours)}</td>
            <td class="num">{figure(ours.checked_sub(theirs))}</td>
            <td>{job}</td>
        </tr>
    }
}

fn errors(count_of_all: i64, errors: Vec<Problem>) -> AnyView {
    let columns = vec![
        Column::text("Line"),
        Column::text("Field"),
        Column::text("What is wrong"),
    ];
    let kept = i64::try_from(errors.len()).unwrap_or(i64::MAX);
    let more = (count_of_all > kept).then(|| {
        let text = format!("The first {kept} of {count_of_all} errors.");
        view! { <p class="muted">{text}</p> }
    });
    let rows = errors.into_iter().map(|error| {
        let field = error.field.map_or("the line", |field| field.as_str());
        view! {
            <tr>
                <th scope="row">{error.line}</th>
                <td>{field}</td>
                <td>{error.problem}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <Section title="What is wrong with the file" id="errors">
            <DataTable id="errors-table" caption="Errors by line" columns plain=true>{rows}</DataTable>
            {more}
        </Section>
    }
    .into_any()
}

fn side(one: &Statement, charged: &[(String, String)]) -> AnyView {
    let (id, hash) = (one.id.to_string(), one.file_hash.to_string());
    let by = one.uploaded_by.clone();
    let by = by.unwrap_or_else(|| "command line".to_owned());
    let (absolute, relative) = (one.tolerance.absolute(), one.tolerance.relative());
    let allowed = format!("{absolute} units, or {relative} of the larger side");
    let checked = one.check.as_ref().map(|(at, _)| *at);
    let checked = checked.map(|at| {
        view! { <Pair label="Last checked"><Time at style=TimeStyle::Stamp/></Pair> }
    });
    let charged: Vec<_> = charged
        .iter()
        .map(|(currency, sum)| format!("{sum} {currency}"))
        .collect();
    let charged = (!charged.is_empty()).then(|| {
        view! { <Pair label="The provider charges" num=true>{charged.join(", ")}</Pair> }
    });
    let newer = one
        .superseded_by
        .map(|newer| format!("/statements/{newer}"));
    let others = format!("/statements?source={}", one.source);
    let matching = one.accepted.then(|| {
        let href = format!("/statements/{}/match", one.id);
        view! { <RelatedLink href>"Match by hand"</RelatedLink> }
    });
    let audit = format!("/audit?object={id}");
    view! {
        <aside class="side" aria-label="About this statement">
            <section>
                <h2>"Statement"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=id what="statement id"/></Pair>
                    <Pair label="Uploaded by">{by}</Pair>
                    <Pair label="Allowed difference">{allowed}</Pair>
                    {charged}
                    {checked}
                    <Pair label="SHA-256 of the file"><Id value=hash what="hash"/></Pair>
                </KeyValue>
            </section>
            <Related title="Related">
                {matching}
                {newer.map(|href| view! { <RelatedLink href>"The statement that counts"</RelatedLink> })}
                <RelatedLink href="/exceptions?class=usage_is_as_the_provider_says&state=open">"Open disagreements"</RelatedLink>
                <RelatedLink href=others>"Others of this source"</RelatedLink>
                <RelatedLink href=audit>"Audit"</RelatedLink>
            </Related>
        </aside>
    }
    .into_any()
}
