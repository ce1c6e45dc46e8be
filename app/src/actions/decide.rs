//! Deciding on an action: the forms of whoever may, and what they type before it goes on.

use domain::action::{Onward, State, tail};
use domain::id::ActionId;
use engine::action::{DryRun, views::Action};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::words::effect;
use crate::context::may_act;
use crate::shell::{FrameData, Kept};
use crate::ui::{Button, ButtonKind, Field, Section, Textarea};
use crate::words::money;

/// The forms of whoever may decide, or why they may not.
pub(super) fn decide(action: &Action, run: &DryRun) -> AnyView {
    let me = FrameData::current().operator.map(|operator| operator.id);
    if !may_act() {
        return view! { <p class="muted">"Deciding takes the role finance."</p> }.into_any();
    }
    let mine = me == Some(action.requested_by.id);
    let changed = action.basis.is_some_and(|basis| basis != run.basis);
    let obstacle = match (run.refusal, changed) {
        (_, true) => Some("This changed since its maker committed it. It can only be refused or withdrawn, and asked for anew.".to_owned()),
        (Some(refusal), _) => Some(format!("It cannot go ahead: {refusal}.")),
        (None, false) => None,
    };
    let notice = obstacle
        .clone()
        .map(|text| view! { <p><strong>{text}</strong></p> });
    let forms = match (action.state, mine) {
        (State::Draft, true) => commit_form(action, run, obstacle),
        (State::Waiting, true) => waiting_form(action),
        (State::Waiting, false) => check_forms(action, run, obstacle),
        _ => view! { <p class="muted">"Only its maker goes on from here."</p> }.into_any(),
    };
    view! {
        <Section title="Decision" id="decision">
            <div class="stack">{notice}{forms}</div>
        </Section>
    }
    .into_any()
}

fn commit_form(action: &Action, run: &DryRun, obstacle: Option<String>) -> AnyView {
    let id = action.id;
    let label = effect(&action.request, run.needs_approval);
    let why = run.needs_approval.then(|| match run.above {
        Some(above) => format!(
            "Above {above} a second person approves.",
            above = above.normalize()
        ),
        None => "A second person approves.".to_owned(),
    });
    view! {
        {why.map(|why| view! { <p class="muted">{why}</p> })}
        <form class="form" method="post" novalidate action=format!("/actions/{id}/commit")>
            <input type="hidden" name="basis" value=run.basis.to_string()/>
            {confirm(action, run, Onward::Commit)}
            <div class="submit">
                <Button kind=ButtonKind::Primary refused=obstacle>{label}</Button>
            </div>
        </form>
        {withdraw_form(id, "Discard")}
    }
    .into_any()
}

/// The field in which a person types what they are about to do, where the rules ask for it.
fn confirm(action: &Action, run: &DryRun, onward: Onward) -> Option<AnyView> {
    if !onward.is_confirmed(action.request.kind, run.needs_approval) {
        return None;
    }
    let step = match onward {
        Onward::Commit => "commit",
        Onward::Approve => "approve",
    };
    let refused = use_query_map().read_untracked().get("unconfirmed");
    let tail = tail(action.id);
    let (label, hint) = match run.moved.filter(|moved| !moved.is_zero()) {
        Some(moved) => (
            format!("To confirm, type {}", money(moved)),
            format!("Or the last six characters of the action’s key: {tail}"),
        ),
        None => (
            format!("To confirm, type {tail}"),
            "These are the last six characters of the action’s key.".to_owned(),
        ),
    };
    let error = (refused.as_deref() == Some(step))
        .then(|| "Nothing was done: what was typed is not what is asked for here".to_owned());
    let field = view! {
        <Field name="confirm" label autocomplete="off" required=true maxlength=40 hint error/>
    };
    Some(field.into_any())
}

fn waiting_form(action: &Action) -> AnyView {
    view! {
        <p class="muted">"You made this request, so someone else approves or refuses it."</p>
        {withdraw_form(action.id, "Withdraw")}
    }
    .into_any()
}

fn withdraw_form(id: ActionId, label: &'static str) -> impl IntoView {
    view! {
        <form method="post" action=format!("/actions/{id}/withdraw")>
            <Button>{label}</Button>
        </form>
    }
}

fn check_forms(action: &Action, run: &DryRun, obstacle: Option<String>) -> AnyView {
    let id = action.id;
    let label = format!("Approve: {}", effect(&action.request, false));
    let refuse = format!("/actions/{id}/refuse");
    let value = Kept::of(&refuse).text("reason");
    view! {
        <form class="form" method="post" novalidate action=format!("/actions/{id}/approve")>
            {confirm(action, run, Onward::Approve)}
            <div class="submit">
                <Button kind=ButtonKind::Primary refused=obstacle>{label}</Button>
            </div>
        </form>
        <form class="form" method="post" novalidate action=refuse>
            <Textarea name="reason" label="Why not" value rows=2 required=true hint="10 to 500 characters; its maker reads it."/>
            <div class="submit"><Button>"Refuse"</Button></div>
        </form>
    }
    .into_any()
}
