//! The page: head, sentence, proof, comparison, pricing, raw evidence.

use domain::event::EventState;
use domain::id::{EventId, JobId};
use domain::job::State;
use domain::settlement::Phase;
use engine::action::{self, views::Action};
use engine::ask::views::Asking;
use engine::settlement::views::{self, JobProof};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::ask;
use super::compare::Compare;
use super::paper::{Paper, Printed};
use super::sentence::sentence;
use super::side::Side;
use super::snapshot::{Rating, priced};
use super::timeline::Timeline;
use crate::actions::done_by_people;
use crate::context::{PageError, may_read_payloads, note_payload_read, page};
use crate::mask::masked;
use crate::shell::{Crumb, Frame, FrameData};
use crate::ui::{Amount, Fact, JsonView, NextStep, ObjectHead, Section, Sentence, Time};
use crate::words::{count, event_reason, job_tone, money, settlement_words, span, titled};

/// Where it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    Screen,
    Paper,
}

/// `/jobs/{id}`
#[component]
pub fn JobPage() -> AnyView {
    whole(On::Screen)
}

/// `/jobs/{id}/print`: the same as it goes on paper, with nothing folded.
#[component]
pub fn JobPrintPage() -> AnyView {
    whole(On::Paper)
}

fn whole(on: On) -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<JobId>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let mut books = engine.snapshot().await?;
        let proof = views::job_proof(&mut books, id)
            .await?
            .ok_or(PageError::NotFound)?;
        let actions = action::views::of_job(&mut books, id).await?;
        let asking = engine::ask::views::of_job(&mut books, id).await?;
        // Given back before another connection is asked for: a page never holds two.
        drop(books);
        let last = proof.events.last().map(|event| event.event);
        let last = match last.filter(|_| may_read_payloads()) {
            Some(event) => engine.event(event).await?,
            None => None,
        };
        let payload = last.and_then(|last| Some((last.event.id, last.payload?.body)));
        if let Some((event, _)) = &payload {
            note_payload_read(&engine, *event).await?;
        }
        Ok(view! { <Job on proof payload actions asking/> }.into_any())
    })
}

#[component]
fn Job(
    on: On,
    proof: JobProof,
    payload: Option<(EventId, Vec<u8>)>,
    actions: Vec<Action>,
    asking: Asking,
) -> AnyView {
    let zone = FrameData::current().zone.label;
    let id = proof.job.job.to_string();
    let tail = id
        .get(id.len().saturating_sub(4)..)
        .unwrap_or_default()
        .to_owned();
    let crumbs = vec![
        Crumb::link("Jobs", "/jobs"),
        Crumb::here(format!("job …{tail}")),
    ];
    let title = format!("Job {tail} of {}", proof.job.tenant_name);
    let told = sentence(&proof);
    let pricing = proof
        .settlements
        .iter()
        .rev()
        .find_map(|settlement| priced(&settlement.snapshot));
    let pricing = pricing.map(|rating| {
        let note = view! { "price version "{rating.version}", frozen at submission" };
        view! {
            <Section title="Pricing" id="pricing" note=note.into_any()>
                <Rating id="rating" rating/>
            </Section>
        }
    });
    let head = view! { <Head proof=proof.clone()/> };
    let timeline = view! { <Timeline proof=proof.clone()/> };
    let compare = view! { <Compare proof=proof.clone()/> };
    let raw = view! { <Raw on proof=proof.clone() payload/> };
    let actions = done_by_people(actions);
    let job = &proof.job;
    let work = (job.state.in_flight(), job.provider_reference.as_deref());
    let answers = match on {
        On::Screen => ask::section(job.job, work, job.source_slug.as_deref(), asking),
        On::Paper => ().into_any(),
    };
    let printed = view! { <Printed proof=proof.clone()/> };
    let body = view! {
            {printed}
            {head}
            <div class="split">
                <div class="stack">
                    <Sentence>{told}</Sentence>
                    {answers}
                    <Section title="Proof" id="proof" note=view! { "times in "{zone} }.into_any()>
                        {timeline}
                    </Section>
                    <Section title="Estimate and settlement" id="difference">{compare}</Section>
                    {actions}
                    {pricing}
                    {raw}
                </div>
                <Side proof/>
            </div>
    };
    match on {
        On::Screen => view! { <Frame title crumbs>{body}</Frame> }.into_any(),
        On::Paper => view! { <Paper title back=format!("/jobs/{id}")>{body}</Paper> }.into_any(),
    }
}

#[component]
fn Head(proof: JobProof) -> AnyView {
    let job = &proof.job;
    let (word, sum) = match job.state {
        _ if job.captured.is_positive() => ("Captured ", job.captured),
        State::Pending | State::Running => ("Held ", job.held),
        State::Blocked => ("Refused at ", job.quote),
        State::Delivering | State::Completed | State::Failed | State::Cancelled => {
            ("Captured ", job.captured)
        }
    };
    let headline = view! { {word}<Amount value=money(sum)/> }.into_any();
    let test = (!job.livemode).then_some(" · test money");
    let aside = view! {
        "held "<Amount value=money(job.held)/>" · "{job.tenant_name.clone()}" / "{job.model.clone()}{test}
    };
    let aside = aside.into_any();
    let (tone, state, at) = (
        job_tone(job.state),
        titled(job.state.as_str()),
        job.state_at,
    );
    let settlement = settlement_words(job.settlement_state);
    let next = next(&proof);
    let settled =
        settled_after(&proof).map(|after| view! { <Fact>"settled "{after}" later"</Fact> });
    let reason = job
        .state_reason
        .clone()
        .map(|reason| view! { <Fact>{reason}</Fact> });
    view! {
        <ObjectHead
            headline
            aside
            tone
            state
        >
            <Fact><Time at/></Fact>
            {reason}
            <Fact>{settlement}</Fact>
            {settled}
            <NextStep>{next}</NextStep>
        </ObjectHead>
    }
    .into_any()
}

/// How long after the deciding event was accepted its settlement was written.
fn settled_after(proof: &JobProof) -> Option<String> {
    let decisive = proof
        .settlements
        .iter()
        .find(|settlement| matches!(settlement.line.key.phase, Phase::Capture | Phase::Release))?;
    let event = proof
        .events
        .iter()
        .find(|event| Some(event.event) == decisive.line.event)?;
    Some(span(decisive.line.settled_at - event.received_at))
}

/// What happens next by itself, or who must act.
fn next(proof: &JobProof) -> String {
    let job = &proof.job;
    let undecided = proof.events.iter().any(|event| event.open_conflicts > 0);
    let rejected = proof
        .events
        .iter()
        .filter(|event| event.state == EventState::Rejected)
        .count();
    let waits = proof
        .events
        .iter()
        .find(|event| event.state == EventState::Waiting);
    if undecided {
        return "A person decides: an event came again with other content".into();
    }
    if rejected > 0 {
        let events = count(i64::try_from(rejected).unwrap_or(0), "event", "events");
        return format!("A person looks: {events} about it could not be used");
    }
    if let Some(event) = waits {
        let reason = event.reason.as_deref().unwrap_or_default();
        return format!(
            "An event waits and is tried again by itself: {}",
            event_reason(reason)
        );
    }
    match job.state {
        State::Pending if job.provider_reference.is_none() => {
            "The product hands it to a provider, then the verdict settles it".into()
        }
        State::Pending | State::Running => "The provider's verdict settles it".into(),
        State::Delivering => "The product stores its output, then it completes".into(),
        State::Blocked => "Nothing is due; the product may submit a smaller job".into(),
        State::Completed | State::Failed | State::Cancelled if job.receivable.is_positive() => {
            format!("The tenant owes {}", money(job.receivable))
        }
        State::Completed | State::Failed | State::Cancelled => "Nothing is due".into(),
    }
}

#[component]
fn Raw(on: On, proof: JobProof, payload: Option<(EventId, Vec<u8>)>) -> AnyView {
    let open = on == On::Paper;
    let payload = payload.map(|(event, body)| {
        let raw = masked(&String::from_utf8_lossy(&body));
        view! { <JsonView title=format!("Payload of {event}, the last event") raw open/> }
    });
    let snapshots = proof.settlements.iter().map(|settlement| {
        let key = settlement.line.key;
        view! {
            <JsonView
                title=format!("Snapshot of {}/{}", key.phase, key.version)
                raw=settlement.snapshot.to_string()
                open
            />
        }
    });
    let snapshots = snapshots.collect_view();
    let estimate = proof.job.estimate.to_string();
    view! {
        <Section title="Raw" id="raw">
            <div class="stack" data-gap="small">
                <JsonView title="Estimated usage" raw=estimate open/>
                {snapshots}
                {payload}
            </div>
        </Section>
    }
    .into_any()
}
