//! Asking the provider how a job stands: the form, and what it answered.

use domain::ask::Outcome;
use domain::id::JobId;
use engine::ask::views::{Asked, Asking, Told};
use leptos::prelude::*;

use crate::context::may_ask;
use crate::ui::{
    Button, Column, DataTable, EmptyKind, EmptyState, Section, StateBadge, Time, TimeStyle, Tone,
};

/// What came of asking, as a badge says it.
pub(crate) const fn outcome_words(outcome: Outcome) -> (Tone, &'static str) {
    match outcome {
        Outcome::Running => (Tone::Moving, "Goes on"),
        Outcome::Ended => (Tone::Good, "Has ended"),
        Outcome::Unused => (Tone::Neutral, "Settles nothing"),
        Outcome::Unusable => (Tone::Stop, "Cannot be billed"),
        Outcome::Unreachable => (Tone::Attention, "Not reached"),
        Outcome::TooSlow => (Tone::Attention, "No answer in time"),
        Outcome::TooLarge => (Tone::Attention, "Too large to read"),
        Outcome::Redirected => (Tone::Attention, "Sent us elsewhere"),
        Outcome::NotFound => (Tone::Attention, "Knows no such work"),
        Outcome::Refused => (Tone::Attention, "Refused our token"),
        Outcome::Failed => (Tone::Attention, "Failed"),
        Outcome::NotJson => (Tone::Attention, "Not JSON"),
        Outcome::Unreadable => (Tone::Attention, "Of another shape"),
        Outcome::OtherJob => (Tone::Stop, "About other work"),
        Outcome::NotStored => (Tone::Attention, "Not stored"),
    }
}

/// The form that asks; `back` is the page that tells what came of it, the job's when it is `None`.
pub(crate) fn ask_form(job: JobId, back: Option<&str>) -> AnyView {
    let action = format!("/jobs/{job}/ask");
    let back = back.map(|back| view! { <input type="hidden" name="back" value=back.to_owned()/> });
    let id = job.to_string();
    let of = id.get(id.len().saturating_sub(4)..).unwrap_or_default();
    let of = format!(" about job {of}");
    view! {
        <form method="post" action=action>
            {back}
            <Button small=true>"Ask the provider now"<span class="unseen">{of}</span></Button>
        </form>
    }
    .into_any()
}

/// How an administrator says where to ask.
pub(crate) fn how_to_set(slug: &str) -> AnyView {
    let command = format!("quittance source answers set {slug} --url URL");
    view! {
        <p class="muted">
            "The source "{slug.to_owned()}" has no answer API, so its provider cannot be asked. An administrator sets one with "
            <code>{command}</code>"."
        </p>
    }
    .into_any()
}

/// What a provider answered last, and when.
pub(crate) fn last_answer(told: &Told) -> AnyView {
    let (_, words) = outcome_words(told.outcome);
    let at = told.at;
    let words = words.to_lowercase();
    let words = match told.event {
        Some(event) => view! { <a href=format!("/events/{event}")>{words}</a> }.into_any(),
        None => view! { {words} }.into_any(),
    };
    view! {
        <span class="detail">"asked: "{words}", "<Time at style=TimeStyle::Age/></span>
    }
    .into_any()
}

/// The section of a job's page; nothing for a job that is over and was never asked about.
pub(super) fn section(
    job: JobId,
    (in_flight, reference): (bool, Option<&str>),
    slug: Option<&str>,
    asking: Asking,
) -> AnyView {
    let can_ask = in_flight && reference.is_some();
    if !can_ask && asking.asked.is_empty() {
        return ().into_any();
    }
    let form = match slug {
        _ if !can_ask => ().into_any(),
        Some(slug) if !asking.has_api => how_to_set(slug),
        _ if may_ask() => ask_form(job, None),
        _ => view! { <p class="muted">"Asking it takes the role support."</p> }.into_any(),
    };
    let table = match asking.asked.is_empty() {
        true => view! {
            <EmptyState kind=EmptyKind::Nothing title="Nobody has asked the provider yet">
                "Its answer is kept as evidence and settled like what it sends by itself."
            </EmptyState>
        }
        .into_any(),
        false => answers(asking.asked),
    };
    view! {
        <Section title="The provider's answers" id="answers">
            <div class="stack" data-gap="small">{form}{table}</div>
        </Section>
    }
    .into_any()
}

fn answers(asked: Vec<Asked>) -> AnyView {
    let columns = vec![
        Column::text("Answer"),
        Column::text("Kept as"),
        Column::num("Status"),
        Column::text("Asked by"),
        Column::text("Asked"),
    ];
    let rows = asked.into_iter().map(|one| {
        let (tone, words) = match &one.told {
            Some(told) => outcome_words(told.outcome),
            None => (Tone::Moving, "No answer yet"),
        };
        let event = one.told.as_ref().and_then(|told| told.event);
        let kept = match event {
            Some(event) => {
                view! { <a href=format!("/events/{event}")>{event.to_string()}</a> }.into_any()
            }
            None => view! { <span class="muted">"nothing"</span> }.into_any(),
        };
        let status = one.told.and_then(|told| told.status);
        let at = one.at;
        view! {
            <tr>
                <th scope="row"><StateBadge tone label=words/></th>
                <td>{kept}</td>
                <td class="num">{status}</td>
                <td>{one.by}</td>
                <td class="age"><Time at style=TimeStyle::Age/></td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <DataTable id="asked" caption="What the provider answered when it was asked, newest first" columns plain=true>
            {rows}
        </DataTable>
    }
    .into_any()
}
