//! Four figures that answer four questions, and the title that sums them up.

use chrono::TimeDelta;
use domain::event::EventState;
use engine::ledger::views::TrialBalance;
use engine::overview::{MOST, Overview};
use leptos::prelude::*;

use crate::shell::FrameData;
use crate::ui::{Amount, Figure, Figures, StateBadge, Tone};
use crate::words::{count, money, span};

/// A job without a verdict for this long needs a look.
const LATE: TimeDelta = TimeDelta::hours(24);

/// What needs a person: events that contradict something or cannot be used, exceptions, and what is frozen.
fn people(overview: &Overview) -> i64 {
    let of = |state| overview.attention.get(&state).copied().unwrap_or(0);
    overview.conflicts
        + overview.exceptions.asking
        + overview.frozen.total()
        + of(EventState::Conflict)
        + of(EventState::Rejected)
}

fn balanced(trial: &[TrialBalance]) -> bool {
    trial.iter().all(|book| book.total.is_zero())
}

/// The page's title: the answer before any figure.
pub(super) fn headline(overview: &Overview, trial: &[TrialBalance]) -> String {
    let people = people(overview);
    let waits = match people {
        0 => "nothing waits for you".to_owned(),
        1 => "one thing waits for you".to_owned(),
        n => format!("{} things wait for you", bounded(n)),
    };
    match (balanced(trial), overview.exceptions.all) {
        (false, _) => format!("The books do not balance; {waits}"),
        (true, 0) if overview.unchecked => format!("The books could not be checked; {waits}"),
        (true, 0) => format!("The books balance, {waits}"),
        (true, n) => format!(
            "The books have {}; {waits}",
            count(n, "exception", "exceptions")
        ),
    }
}

/// A count that stopped at the most that is counted says so.
fn bounded(n: i64) -> String {
    if n >= MOST {
        format!("{n}+")
    } else {
        n.to_string()
    }
}

#[component]
pub(super) fn Figures4(overview: Overview, trial: Vec<TrialBalance>) -> AnyView {
    let settled = settled(&overview);
    let right = right(trial, &overview);
    let waiting = waiting(&overview);
    let slow = slow(&overview);
    view! { <Figures label="How things stand">{settled}{right}{waiting}{slow}</Figures> }.into_any()
}

fn settled(overview: &Overview) -> AnyView {
    let now = FrameData::current().now;
    let open = overview.in_flight;
    let oldest = open.oldest.map(|at| now - at);
    let (tone, label) = match oldest {
        None => (Tone::Good, "every job has its verdict".to_owned()),
        Some(age) if age > LATE => (Tone::Attention, format!("oldest {}", span(age))),
        Some(age) => (Tone::Good, format!("none older than {}", span(age))),
    };
    let note = view! { <StateBadge tone label/> }.into_any();
    let value = format!("{} in flight", bounded(open.count));
    view! {
        <Figure question="Is everything settled?" href="/jobs?in_flight=true" note>{value}</Figure>
    }
    .into_any()
}

fn right(trial: Vec<TrialBalance>, overview: &Overview) -> AnyView {
    let (tone, label, href) = match (balanced(&trial), overview.exceptions.all) {
        (true, 0) if overview.unchecked => (
            Tone::Stop,
            "the last check failed".to_owned(),
            "/reconciliation",
        ),
        (true, 0) => (
            Tone::Good,
            "debits equal credits".to_owned(),
            "/wallets#trial-balance",
        ),
        (true, n) => (
            Tone::Stop,
            count(n, "exception", "exceptions"),
            "/exceptions?state=open",
        ),
        (false, _) => (
            Tone::Stop,
            "debits and credits differ".to_owned(),
            "/wallets#trial-balance",
        ),
    };
    let note = view! { <StateBadge tone label/> }.into_any();
    let off = trial
        .iter()
        .find(|book| !book.total.is_zero())
        .or(trial.first());
    let value = match off {
        Some(book) => view! { <Amount value=money(book.total)/>" off" }.into_any(),
        None => view! { "no books yet" }.into_any(),
    };
    view! {
        <Figure question="Is the money right?" href note>{value}</Figure>
    }
    .into_any()
}

fn waiting(overview: &Overview) -> AnyView {
    let of = |state| overview.attention.get(&state).copied().unwrap_or(0);
    let people = people(overview);
    let by_itself = of(EventState::Waiting) + of(EventState::Failed);
    let tone = match (people, by_itself) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Moving,
        _ => Tone::Attention,
    };
    let label = match (people, by_itself) {
        (0, 0) => "nobody waits".to_owned(),
        (_, 0) => count(overview.conflicts, "conflict", "conflicts"),
        (_, n) => format!("{n} more tried again by themselves"),
    };
    let note = view! { <StateBadge tone label/> }.into_any();
    let value = format!("{} waiting", bounded(people));
    view! {
        <Figure question="Does anyone wait for me?" href="#attention" note>{value}</Figure>
    }
    .into_any()
}

fn slow(overview: &Overview) -> AnyView {
    let now = FrameData::current().now;
    let speed = overview.speed;
    let behind = overview
        .due
        .oldest
        .map(|at| now - at)
        .filter(|late| *late > TimeDelta::seconds(10));
    let note = match behind {
        Some(late) => {
            let label = format!("{} due for {}", bounded(overview.due.count), span(late));
            view! { <StateBadge tone=Tone::Attention label/> }.into_any()
        }
        None if speed.measured == 0 => view! { "no event was decided yet" }.into_any(),
        None => {
            let half = span(speed.median);
            view! { "event to outcome, slowest 1 in 100; half within "{half} }.into_any()
        }
    };
    let value = if speed.measured == 0 {
        "none yet".to_owned()
    } else {
        span(speed.slow)
    };
    view! { <Figure question="Is anything slow?" href="/events" note>{value}</Figure> }.into_any()
}
