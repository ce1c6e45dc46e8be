//! Deciding a case on the event's page, and what was decided.

use domain::action::Kind;
use domain::event::{CaseDecision, EventState};
use domain::id::EventId;
use engine::case::Stake;
use engine::case::views::Decision;
use leptos::prelude::*;

use crate::context::may_act;
use crate::shell::Kept;
use crate::ui::{Amount, Button, ButtonKind, Section, Textarea, Time, TimeStyle};
use crate::words::money;

/// A decision, in words.
pub(super) const fn decision_words(decision: CaseDecision) -> &'static str {
    match decision {
        CaseDecision::KeepFirst => "kept what came first",
        CaseDecision::AcceptOther => "took what came later, by an adjustment",
        CaseDecision::Dismiss => "decided that it changes nothing",
        CaseDecision::Replay => "had it looked at again",
    }
}

/// One line for a decision: who, what, when and why.
#[component]
pub(super) fn Decided(
    /// The decision.
    decision: Decision,
) -> AnyView {
    let at = decision.at;
    view! {
        <p>
            <strong>{decision.by}</strong>" "{decision_words(decision.decision)}" "
            <Time at style=TimeStyle::Stamp/>": “"{decision.reason}"”"
        </p>
    }
    .into_any()
}

/// What was decided about the event itself, and the form while it is open.
#[component]
pub(super) fn Case(
    /// The event.
    event: EventId,
    /// What became of it.
    state: EventState,
    /// What was decided, oldest first.
    decisions: Vec<Decision>,
) -> AnyView {
    let about: Vec<_> = decisions
        .into_iter()
        .filter(|one| one.conflict.is_none())
        .collect();
    if about.is_empty() && !state.is_case() {
        return ().into_any();
    }
    let lines = about
        .into_iter()
        .map(|decision| view! { <Decided decision/> })
        .collect_view();
    let form = state.is_case().then(|| open(event));
    view! {
        <Section title="Decision" id="decision">
            <div class="stack">{lines}{form}</div>
        </Section>
    }
    .into_any()
}

fn open(event: EventId) -> AnyView {
    if !may_act() {
        return view! { <p class="muted">"Deciding takes the role finance."</p> }.into_any();
    }
    let decide = format!("/events/{event}/decide");
    let value = Kept::of(&decide).text("reason");
    view! {
        <p class="muted">
            "Replaying is safe: whatever it settled before cannot settle twice. Dismissing leaves it on record, and nothing changes."
        </p>
        <form class="form" method="post" action=decide>
            <Textarea name="reason" label="Reason" value rows=2 required=true hint="10 to 500 characters, for whoever reads the books later."/>
            <div class="submit">
                <Button kind=ButtonKind::Primary name="decision" value=CaseDecision::Replay.as_str()>"Look at it again"</Button>
                <Button name="decision" value=CaseDecision::Dismiss.as_str()>"Dismiss it"</Button>
            </div>
        </form>
    }
    .into_any()
}

/// The form that keeps what came first, below the contents it is about.
#[component]
pub(super) fn KeepFirst(
    /// The event.
    event: EventId,
    /// The other content.
    conflict: i64,
) -> AnyView {
    if !may_act() {
        return view! { <p class="muted">"Deciding takes the role finance."</p> }.into_any();
    }
    let name = format!("reason-{conflict}");
    let label = format!("Reason for keeping the first, against content {conflict}");
    let decide = format!("/events/{event}/decide");
    let value = Kept::of(&decide).text(&name);
    view! {
        <form class="form" method="post" action=decide>
            <input type="hidden" name="conflict" value=conflict.to_string()/>
            <input type="hidden" name="field" value=name.clone()/>
            <Textarea name label value rows=2 required=true hint="10 to 500 characters, for whoever reads the books later."/>
            <div class="submit">
                <Button name="decision" value=CaseDecision::KeepFirst.as_str()>"Keep the first"</Button>
            </div>
        </form>
    }
    .into_any()
}

/// The money at stake, and the way to take what came later for the right one.
#[component]
pub(super) fn AtStake(
    /// The event.
    event: EventId,
    /// The other content.
    conflict: i64,
    /// What the job is charged, and would be.
    stake: Stake,
) -> AnyView {
    let charged = money(stake.charged);
    let Some(other) = stake.other else {
        return view! {
            <p>"The job is charged "<Amount value=charged/>". The other content says nothing about the charge."</p>
        }
        .into_any();
    };
    let difference = other.minus(stake.charged).ok().filter(|by| !by.is_zero());
    let Some(difference) = difference else {
        return view! { <p>"By either content the job is charged "<Amount value=charged/>"."</p> }
            .into_any();
    };
    let (kind, by, verb) = if difference.is_positive() {
        (Kind::Charge, difference, "charge")
    } else {
        let back = stake.charged.minus(other).unwrap_or(stake.charged);
        (Kind::Credit, back, "give back")
    };
    let take = may_act().then(|| {
        let reason = format!("What came later of {event} is right: the job comes to {other}.");
        let href = format!(
            "/jobs/{}/{kind}?conflict={conflict}&amount={}&category=resolved&reason={}",
            stake.job,
            by.value().normalize(),
            reason.replace(' ', "%20"),
        );
        view! { " "<a href=href>{format!("Take what came later, and {verb} {}", money(by))}</a>"." }
    });
    view! {
        <p>
            "The job is charged "<Amount value=charged/>"; by the other content it would be "
            <Amount value=money(other)/>"."{take}
        </p>
    }
    .into_any()
}
