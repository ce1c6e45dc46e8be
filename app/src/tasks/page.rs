//! `/tasks/{id}`: what a task would do, starting it, how far it is, and what came of each thing.

use domain::id::TaskId;
use domain::money::Amount as Money;
use domain::task::{Kind, Promise, State};
use engine::task::views::{self, Item, Task};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::words::{headline, outcome_words, promise_words, state};
use crate::context::{PageError, may_act, page};
use crate::list::mark;
use crate::shell::{Crumb, Frame, Kept};
use crate::ui::{
    Amount, Button, ButtonKind, Column, DataTable, Fact, NextStep, ObjectHead, RowLink, Section,
    Sentence, StateBadge, Textarea, Time, TimeStyle,
};
use crate::words::{count, money};

/// `/tasks/{id}`
#[component]
pub fn TaskPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<TaskId>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let task = views::find(&mut books, id).await?;
        let task = task.ok_or(PageError::NotFound)?;
        let items = views::items(&mut books, id).await?;
        let sums = views::sums(&mut books, id).await?;
        Ok(view! { <Whole task items sums/> }.into_any())
    })
}

#[component]
fn Whole(task: Task, items: Vec<Item>, sums: Vec<Money>) -> AnyView {
    let title = headline(&task);
    let crumbs = vec![Crumb::link("Tasks", "/tasks"), Crumb::here(title.clone())];
    let head = head(&task);
    let told = promised(&task, &items, sums);
    let can = items.iter().any(|item| item.promise != Promise::Cannot);
    let forms = forms(&task, can);
    let kind = task.kind;
    let rows = items
        .into_iter()
        .map(|item| line(kind, item))
        .collect_view();
    let columns = vec![
        Column::text(match kind {
            Kind::Replay => "Event",
            Kind::Repair => "Exception",
        }),
        Column::text("Rehearsal"),
        Column::text("What came of it"),
    ];
    view! {
        <Frame title crumbs>
            {head}
            <div class="stack">
                <Sentence>{told}</Sentence>
                {forms}
                <DataTable id="items" caption="What it is about, in the order it is done" columns>{rows}</DataTable>
            </div>
        </Frame>
    }
    .into_any()
}

fn head(task: &Task) -> AnyView {
    let (tone, label) = state(task);
    let headline = view! { {headline(task)} }.into_any();
    let aside = view! { {task.chosen.clone()} }.into_any();
    let (made_by, made_at) = (task.made_by.clone(), task.made_at);
    let started = task.started.clone().map(|(by, at)| {
        view! { <Fact>"started by "{by}" "<Time at style=TimeStyle::Stamp/></Fact> }
    });
    let next = match task.state {
        State::Draft => "Nothing happens until someone starts it".into_any(),
        State::Running => {
            view! { "It goes on by itself; "<a href="">"see how far it is"</a> }.into_any()
        }
        State::Done | State::Cancelled => "Nothing is due".into_any(),
    };
    view! {
        <ObjectHead headline aside tone state=label>
            <Fact>"chosen by "{made_by}" "<Time at=made_at style=TimeStyle::Stamp/></Fact>
            {started}
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

/// What the rehearsal came to, in a sentence.
fn promised(task: &Task, items: &[Item], sums: Vec<Money>) -> AnyView {
    let of = |promise: Promise| items.iter().filter(|item| item.promise == promise).count();
    let n = |promise: Promise| i64::try_from(of(promise)).unwrap_or(i64::MAX);
    let mut parts = Vec::new();
    if of(Promise::Posts) > 0 {
        parts.push(count(n(Promise::Posts), "posts entries", "post entries"));
    }
    if of(Promise::Changes) > 0 {
        parts.push(count(
            n(Promise::Changes),
            "changes without moving money",
            "change without moving money",
        ));
    }
    if of(Promise::Nothing) > 0 {
        parts.push(count(
            n(Promise::Nothing),
            "comes to what it is now",
            "come to what they are now",
        ));
    }
    if of(Promise::Cannot) > 0 {
        parts.push(count(
            n(Promise::Cannot),
            "cannot be done",
            "cannot be done",
        ));
    }
    let verb = match task.state {
        State::Draft => "As rehearsed just now",
        State::Running | State::Done | State::Cancelled => "As rehearsed before it was started",
    };
    let amounts = sums
        .into_iter()
        .map(|sum| view! { " "<Amount value=money(sum)/>" would be charged." });
    view! { {format!("{verb}: {}.", parts.join(", "))}{amounts.collect_view()} }.into_any()
}

/// Starting and stopping; what can do nothing is not started.
fn forms(task: &Task, can: bool) -> AnyView {
    if task.state == State::Done || task.state == State::Cancelled {
        let reason = task.reason.clone();
        return reason
            .map(|reason| view! { <p>"“"{reason}"”"</p> })
            .into_any();
    }
    if !may_act() {
        return view! { <p class="muted">"Starting and stopping it takes the role finance."</p> }
            .into_any();
    }
    let (start, cancel) = (
        format!("/tasks/{}/start", task.id),
        format!("/tasks/{}/cancel", task.id),
    );
    let what = match task.kind {
        Kind::Replay => {
            "Each event goes through the same keys as the first time: what it settled before cannot settle twice. What was decided meanwhile is refused, and the others go on."
        }
        Kind::Repair => {
            "Each is written anew from what is recorded; history is not changed. What became right meanwhile is refused, and the others go on."
        }
    };
    let does = headline(task);
    let reason = Kept::of(&start).text("reason");
    let starting = (task.state == State::Draft && can).then(|| {
        view! {
            <p class="muted">{what}</p>
            <form class="form" method="post" action=start>
                <Textarea name="reason" label="Reason" value=reason rows=2 required=true hint="10 to 500 characters, for whoever reads the books later."/>
                <div class="submit"><Button kind=ButtonKind::Primary>{does}</Button></div>
            </form>
        }
    });
    let stop = match task.state {
        State::Draft => "Leave it",
        _ => "Stop it",
    };
    view! {
        <Section title="Start or stop" id="start">
            <div class="stack">
                {starting}
                <form method="post" action=cancel><Button>{stop}</Button></form>
            </div>
        </Section>
    }
    .into_any()
}

fn line(kind: Kind, item: Item) -> impl IntoView {
    let (href, name) = match kind {
        Kind::Replay => (
            format!("/events/evt_{}", item.subject),
            format!("evt_{}", item.subject),
        ),
        Kind::Repair => (
            format!("/exceptions/exc_{}", item.subject),
            format!("exc_{}", item.subject),
        ),
    };
    let (tone, label) = promise_words(item.promise);
    let outcome = match item.outcome {
        Some(outcome) => {
            let (tone, label) = outcome_words(outcome);
            let told = item
                .told
                .map(|told| view! { <span class="detail">{told}</span> });
            view! { <StateBadge tone label/>{told} }.into_any()
        }
        None => view! { <span class="muted">"not yet"</span> }.into_any(),
    };
    view! {
        <tr data-tone=mark(tone)>
            <RowLink href>{name}</RowLink>
            <td><StateBadge tone label/><span class="detail">{item.promised}</span></td>
            <td>{outcome}</td>
        </tr>
    }
}
