//! `/uncertain`: jobs whose verdict is overdue, oldest first: what they hold, what was last heard, and
//! what can be done.

use chrono::TimeDelta;
use domain::action::Kind;
use engine::job::views::uncertain::{self, AtStake, MOST, Uncertain};
use leptos::prelude::*;

use crate::actions::form_title;
use crate::context::{may_act, may_ask, page};
use crate::job::{ask_form, last_answer};
use crate::list::{Problems, Query, livemode};
use crate::shell::{Frame, FrameData};
use crate::ui::{
    Amount, Column, DataTable, EmptyKind, EmptyState, Id, PageHead, RowLink, Sentence, SortOrder,
    StateBadge, Time, TimeStyle, ViewLinks,
};
use crate::words::{count, job_tone, money, span, titled};

/// Hours without a verdict, as a view each; the first is shown when none is chosen.
const HOURS: [(&str, i64); 4] = [
    ("Too long", 0),
    ("Six hours", 6),
    ("A day", 24),
    ("Three days", 72),
];

/// `/uncertain`
#[component]
pub fn UncertainPage() -> AnyView {
    let mut query = Query::read("/uncertain", &["hours"]);
    let hours = query
        .parsed::<u16>("hours")
        .map(|hours| TimeDelta::hours(hours.into()));
    let live = livemode();
    page(move |engine| async move {
        let hours = hours.unwrap_or(engine.overdue());
        let before = engine.clock().now() - hours;
        let mut books = engine.snapshot().await?;
        let jobs = uncertain::list(&mut books, live, before).await?;
        let stake = uncertain::at_stake(&mut books, live, before).await?;
        Ok(view! { <Desk query hours jobs stake/> }.into_any())
    })
}

#[component]
fn Desk(query: Query, hours: TimeDelta, jobs: Vec<Uncertain>, stake: Vec<AtStake>) -> AnyView {
    let links = HOURS
        .into_iter()
        .map(|(label, hours)| match hours {
            0 => query.view(label, &[]),
            _ => query.view(label, &[("hours", &hours.to_string())]),
        })
        .collect();
    let age = span(hours);
    let table = if jobs.is_empty() {
        view! {
            <EmptyState kind=EmptyKind::Nothing title="Every job has its verdict, or is younger">
                "A job stands here when its provider has not said how it ended."
            </EmptyState>
        }
        .into_any()
    } else {
        let told = told(&stake, &age);
        view! { <Sentence>{told}</Sentence>{table(jobs)} }.into_any()
    };
    view! {
        <Frame title="Uncertain jobs">
            <PageHead
                title="Uncertain jobs"
                lead="A hold goes back on a verdict, never on a time-out. Where none comes, ask the provider; where it knows none, two people may give the hold up. A success that is heard later still charges."
            />
            <div class="stack">
                <div class="filters"><ViewLinks label="Without a verdict for" links/></div>
                <Problems problems=query.problems()/>
                {table}
            </div>
        </Frame>
    }
    .into_any()
}

/// How many there are and what waiting costs the customers.
fn told(stake: &[AtStake], age: &str) -> String {
    let jobs: i64 = stake.iter().map(|one| one.jobs).sum();
    let held: Vec<_> = stake
        .iter()
        .map(|one| money(one.held).to_string())
        .collect();
    let shown = if jobs > MOST {
        format!(" The {MOST} oldest are listed.")
    } else {
        String::new()
    };
    format!(
        "{} without a verdict for more than {age}, with {} on hold that customers cannot spend meanwhile.{shown}",
        count(jobs, "job", "jobs"),
        held.join(" and "),
    )
}

fn table(jobs: Vec<Uncertain>) -> AnyView {
    let columns = vec![
        Column::text("Job"),
        Column::text("State"),
        Column::text("Last heard"),
        Column::num("On hold"),
        Column::text("Since").sorted(SortOrder::Ascending),
        Column::text("Next step"),
    ];
    let places = crate::job::places(jobs.iter().map(|row| row.held.value()));
    let rows = jobs.into_iter().map(|row| line(row, places)).collect_view();
    view! {
        <DataTable id="uncertain" caption="Jobs whose verdict is overdue, oldest first" columns>{rows}</DataTable>
    }
    .into_any()
}

fn line(row: Uncertain, places: u8) -> impl IntoView {
    let now = FrameData::current().now;
    let of = view! { {row.model}" · "{row.tenant_name} }.into_any();
    let no_api = (!row.can_be_asked && row.provider_reference.is_some()).then(
        || view! { <span class="detail">"no answer API: the job says how to set one"</span> },
    );
    let with = match (row.source_slug, row.provider_reference) {
        (Some(slug), Some(reference)) => {
            view! { {slug}" · "<Id value=reference bare=true/> }.into_any()
        }
        (Some(slug), None) => view! { {slug}" · not handed over" }.into_any(),
        (None, _) => view! { "not handed over" }.into_any(),
    };
    let heard = match row.last_heard {
        Some(heard) => {
            let ago = format!("{} ago", span(now - heard.at));
            let href = format!("/events/{}", heard.event);
            view! { <a href=href>{heard.kind}</a><span class="detail">{ago}</span> }.into_any()
        }
        None => view! { <span class="muted">"nothing"</span> }.into_any(),
    };
    let answer = row.last_answer.as_ref().map(last_answer);
    let cancel = row
        .cancel_requested
        .then(|| view! { <span class="detail">"cancel requested"</span> });
    let ask = match row.can_be_asked && may_ask() {
        true => ask_form(row.job, Some(&FrameData::current().location)),
        false => ().into_any(),
    };
    let next = if may_act() {
        let href = format!("/jobs/{}/{}", row.job, Kind::Release);
        view! { <a href=href>{form_title(Kind::Release)}</a> }.into_any()
    } else {
        view! { <span class="muted">"takes the role finance"</span> }.into_any()
    };
    view! {
        <tr id=row.job.to_string()>
            <RowLink href=format!("/jobs/{}", row.job) detail=of>
                <Id value=row.job.to_string() bare=true/>
            </RowLink>
            <td>
                <StateBadge tone=job_tone(row.state) label=titled(row.state.as_str())/>
                <span class="detail">{with}</span>
                {cancel}
                {no_api}
            </td>
            <td>{heard}{answer}</td>
            <td class="num"><Amount value=money(row.held) places/></td>
            <td class="age"><Time at=row.submitted_at style=TimeStyle::Age/></td>
            <td>{ask}<span class="detail">{next}</span></td>
        </tr>
    }
}
