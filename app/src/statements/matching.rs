//! `/statements/{id}/match`: what they state alone beside what we have alone, and what people have matched.
//!
//! What is chosen lives in the address, so the difference is the server's and the page needs no script.

use std::collections::BTreeSet;

use domain::id::{MatchId, StatementId};
use domain::statement::{Outcome, Side};
use engine::statement::views::{self, GroupLine, MOST_LONE, Match, Part, Statement};
use leptos::prelude::*;
use leptos_router::hooks::{use_params_map, use_query_map};
use rust_decimal::Decimal;

use crate::context::{PageError, may_act, page};
use crate::list::livemode;
use crate::shell::{Crumb, Frame};
use crate::ui::{
    Button, ButtonKind, Choice, Column, DataTable, FilterBar, Id, KeyValue, PageHead, Pair,
    Section, SelectField, Sentence, StateBadge, Textarea, Time, TimeStyle, Tone, number,
};
use crate::words::count;

/// What a page shows.
struct Shown {
    one: Statement,
    meters: Vec<String>,
    meter: Option<String>,
    lone: Vec<GroupLine>,
    matches: Vec<Match>,
    key: String,
    chosen: BTreeSet<String>,
    reason: String,
}

impl Shown {
    fn of(&self, side: Side) -> impl Iterator<Item = &GroupLine> {
        let outcome = match side {
            Side::Theirs => Outcome::MissingWithUs,
            Side::Ours => Outcome::MissingWithProvider,
        };
        self.lone.iter().filter(move |row| row.outcome == outcome)
    }

    /// What is chosen of a side.
    fn sum(&self, side: Side) -> Decimal {
        let chosen = self
            .of(side)
            .filter(|row| self.chosen.contains(&row.reference));
        chosen.map(|row| quantity(row).unwrap_or_default()).sum()
    }
}

fn quantity(row: &GroupLine) -> Option<Decimal> {
    row.theirs.or(row.ours)
}

fn figure(value: Option<Decimal>) -> String {
    value.map_or_else(|| "—".to_owned(), |value| number(value.normalize()))
}

/// `/statements/{id}/match`
#[component]
pub fn MatchPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<StatementId>().ok());
    let query = use_query_map().read_untracked().clone();
    page(move |engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let one = views::find(&mut books, id).await?;
        let one = one
            .filter(|one| one.livemode == livemode() && one.accepted)
            .ok_or(PageError::NotFound)?;
        let meters = views::meters(&mut books, id).await?;
        let asked = query.get("meter").filter(|meter| meters.contains(meter));
        let meter = asked.or_else(|| meters.first().cloned());
        let lone = match &meter {
            Some(meter) => views::lone(&mut books, id, meter).await?,
            None => Vec::new(),
        };
        let key = query.get("key").and_then(|key| key.parse().ok());
        let shown = Shown {
            matches: views::matches(&mut books, id).await?,
            one,
            meters,
            meter,
            lone,
            key: key.unwrap_or_else(|| MatchId(engine.mint())).to_string(),
            chosen: query
                .get_all("part")
                .unwrap_or_default()
                .into_iter()
                .collect(),
            reason: query.get("reason").unwrap_or_default(),
        };
        Ok(view! { <Whole shown/> }.into_any())
    })
}

#[component]
fn Whole(shown: Shown) -> AnyView {
    let id = shown.one.id;
    let crumbs = vec![
        Crumb::link("Statements", "/statements"),
        Crumb::link(id.to_string(), format!("/statements/{id}")),
        Crumb::here("Match"),
    ];
    let title = format!("Match by hand: {} {}", shown.one.source, shown.one.period);
    let bench = match &shown.meter {
        Some(meter) => bench(&shown, meter),
        None => view! {
            <p class="muted">"There is no meter of which both sides have something that the other has not."</p>
        }
        .into_any(),
    };
    let matches = matches(id, &shown.matches);
    view! {
        <Frame title crumbs>
            <PageHead
                title="Match by hand"
                lead="What the two sides name differently can be said to be one. Every check decides a match as one group, until it is taken back."
            />
            <div class="stack">
                {bench}
                {matches}
            </div>
        </Frame>
    }
    .into_any()
}

/// Both sides, the difference of what is chosen, and the form.
fn bench(shown: &Shown, meter: &str) -> AnyView {
    let id = shown.one.id;
    let (path, post) = (
        format!("/statements/{id}/match"),
        format!("/statements/{id}/matches"),
    );
    let choices: Vec<_> = shown
        .meters
        .iter()
        .map(|meter| Choice::new(meter.clone(), meter.clone()))
        .collect();
    let meters = (choices.len() > 1).then(|| {
        let selected = meter.to_owned();
        view! {
            <div class="filters">
                <FilterBar action=path.clone() what="groups">
                    <SelectField name="meter" label="Meter" choices selected/>
                </FilterBar>
            </div>
        }
    });
    let sides = [Side::Theirs, Side::Ours].map(|side| pane(shown, side));
    let difference = difference(shown, meter);
    let act = may_act().then(|| {
        let reason = shown.reason.clone();
        view! {
            <Textarea name="reason" label="Why they are one" value=reason rows=2 hint="It stays for ever, even when the match is taken back."/>
            <div class="submit">
                <Button kind=ButtonKind::Primary>"Match them"</Button>
            </div>
        }
    });
    view! {
        {meters}
        <form method="post" action=post class="stack">
            <input type="hidden" name="key" value=shown.key.clone()/>
            <input type="hidden" name="meter" value=meter.to_owned()/>
            <div class="panes">{sides.into_iter().collect_view()}</div>
            {difference}
            <div class="submit">
                <button type="submit" class="button" formmethod="get" formaction=path>"Show the difference"</button>
            </div>
            {act}
        </form>
    }
    .into_any()
}

fn pane(shown: &Shown, side: Side) -> AnyView {
    let (title, id, caption) = match side {
        Side::Theirs => (
            "They state, we have not",
            "theirs",
            "Stated, and we have no usage",
        ),
        Side::Ours => (
            "We have, they do not state",
            "ours",
            "Our usage, and not stated",
        ),
    };
    let columns = vec![
        Column::text("Reference"),
        Column::text("Choose"),
        Column::num("Quantity"),
    ];
    let rows: Vec<_> = shown.of(side).collect();
    let is_cut_short = i64::try_from(rows.len()).is_ok_and(|rows| rows == MOST_LONE);
    let more = is_cut_short.then(|| {
        let text = format!("The first {MOST_LONE}. What is matched makes room for the next.");
        view! { <p class="muted">{text}</p> }
    });
    let rows = rows.into_iter().map(|row| {
        let reference = row.reference.clone();
        let is_chosen = shown.chosen.contains(&reference);
        let label = format!("Choose {reference}");
        let name = match row.job {
            Some((_, job)) => {
                view! { <Id value=reference.clone() href=format!("/jobs/{job}") bare=true/> }.into_any()
            }
            None => view! { {reference.clone()} }.into_any(),
        };
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td><input type="checkbox" name="part" value=reference checked=is_chosen aria-label=label/></td>
                <td class="num">{figure(quantity(row))}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <section aria-labelledby=format!("{id}-title")>
            <h2 id=format!("{id}-title")>{title}</h2>
            <DataTable id caption columns plain=true>{rows}</DataTable>
            {more}
        </section>
    }
    .into_any()
}

/// What is chosen of both sides, and what remains between them.
fn difference(shown: &Shown, meter: &str) -> AnyView {
    let (theirs, ours) = (shown.sum(Side::Theirs), shown.sum(Side::Ours));
    let tolerance = shown.one.tolerance;
    let remains = ours - theirs;
    let told = match (theirs.is_zero() || ours.is_zero(), remains.is_zero()) {
        (true, _) => "Choose something of both sides.",
        (_, true) => "They are equal.",
        (_, false) if tolerance.allows(ours, theirs) => "They differ by no more than is allowed.",
        (_, false) => {
            "They differ by more than is allowed: an exception of what remains is opened."
        }
    };
    let (meter, same) = (meter.to_owned(), meter.to_owned());
    view! {
        <Section title="What is chosen" id="chosen">
            <KeyValue>
                <Pair label="They state" num=true>{figure(Some(theirs))}" "{meter}</Pair>
                <Pair label="We have" num=true>{figure(Some(ours))}" "{same}</Pair>
                <Pair label="Difference" num=true>{figure(Some(remains))}</Pair>
            </KeyValue>
            <Sentence>{told}</Sentence>
        </Section>
    }
    .into_any()
}

fn matches(statement: StatementId, matches: &[Match]) -> AnyView {
    if matches.is_empty() {
        return view! { <p class="muted">"Nothing of this period was matched by hand."</p> }
            .into_any();
    }
    let columns = vec![
        Column::text("Match"),
        Column::text("They state"),
        Column::text("We have"),
        Column::num("Difference"),
        Column::text("Why"),
    ];
    let rows = matches.iter().map(row).collect_view();
    let forms = matches
        .iter()
        .filter(|one| one.undone.is_none() && may_act());
    let forms = forms.map(|one| undo(statement, one)).collect_view();
    view! {
        <Section title="Matched by hand" id="matched">
            <DataTable id="matches" caption="Matches of the period, oldest first" columns plain=true>{rows}</DataTable>
            {forms}
        </Section>
    }
    .into_any()
}

fn row(one: &Match) -> impl IntoView + use<> {
    let parts = |side: Side| {
        let parts: Vec<_> = one.parts.iter().filter(|part| part.side == side).collect();
        let names: Vec<_> = parts.iter().map(|part| part.reference.clone()).collect();
        names.join(", ")
    };
    let sum = |of: fn(&Part) -> Option<Decimal>| one.parts.iter().filter_map(of).sum::<Decimal>();
    let remains = sum(|part| part.ours) - sum(|part| part.theirs);
    let state = match &one.undone {
        Some(_) => view! { <StateBadge tone=Tone::Neutral label="Taken back"/> },
        None => view! { <StateBadge tone=Tone::Good label="In force"/> },
    };
    let remains = one.undone.is_none().then_some(remains);
    let undone = one.undone.clone().map(|(by, at, reason)| {
        view! { <span class="detail">"taken back by "{by}", "<Time at style=TimeStyle::Stamp/>": "{reason}</span> }
    });
    let size = count(
        i64::try_from(one.parts.len()).unwrap_or(i64::MAX),
        "group",
        "groups",
    );
    let at = one.at;
    view! {
        <tr id=one.id.to_string()>
            <th scope="row"><Id value=one.id.to_string() bare=true/><span class="detail">{size}" of "{one.meter.clone()}</span></th>
            <td>{parts(Side::Theirs)}</td>
            <td>{parts(Side::Ours)}</td>
            <td class="num">{figure(remains)}</td>
            <td>
                {state}
                <span class="detail">{one.by.clone()}", "<Time at style=TimeStyle::Stamp/>": "{one.reason.clone()}</span>
                {undone}
            </td>
        </tr>
    }
}

/// The form that takes a match back.
fn undo(statement: StatementId, one: &Match) -> AnyView {
    let id = one.id;
    let action = format!("/statements/{statement}/matches/{id}/undo");
    view! {
        <details>
            <summary>"Take back "<Id value=id.to_string() bare=true/></summary>
            <form class="form" method="post" action=action>
                <Textarea name=format!("reason_{id}") label="Why it is taken back" rows=2 required=true hint="Its exceptions are opened again by the next run."/>
                <div class="submit"><Button>"Take it back"</Button></div>
            </form>
        </details>
    }
    .into_any()
}
