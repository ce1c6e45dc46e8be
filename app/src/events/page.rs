//! `/events/{id}`: what it told, what became of it, how often it came, and what contradicts it.

use std::collections::{HashMap, HashSet};

use domain::event::EventState;
use domain::id::EventId;
use engine::case::views::{Decision, decisions};
use engine::case::{Stake, stake};
use engine::inbox::views::{DeliveryRow, EventDetail, EventRow};
use leptos::prelude::*;
use leptos_router::hooks::use_params_map;

use super::case::Case;
use super::content::{Content, Contradictions};
use crate::context::{PageError, may_read_payloads, note_payload_read, page};
use crate::shell::{Crumb, Frame};
use crate::ui::{
    Column, DataTable, Fact, Id, KeyValue, NextStep, ObjectHead, Pair, Related, RelatedLink,
    Section, Sentence, StateBadge, Time, TimeStyle,
};
use crate::words::{
    count, delivery_tone, event_reason, event_state_words, event_tone, span, titled,
};

/// `/events/{id}`
#[component]
pub fn EventPage() -> AnyView {
    let id = use_params_map()
        .read_untracked()
        .get("id")
        .and_then(|id| id.parse::<EventId>().ok());
    page(|engine| async move {
        let id = id.ok_or(PageError::NotFound)?;
        let detail = engine.event(id).await?.ok_or(PageError::NotFound)?;
        if may_read_payloads() && (detail.payload.is_some() || !detail.conflicts.is_empty()) {
            note_payload_read(&engine, id).await?;
        }
        let mut books = engine.snapshot().await?;
        let decisions = decisions(&mut books, id).await?;
        let mut stakes = HashMap::new();
        for conflict in &detail.conflicts {
            if let Some(stake) = stake(&mut books, conflict.id).await? {
                stakes.insert(conflict.id, stake);
            }
        }
        Ok(view! { <Event detail decisions stakes/> }.into_any())
    })
}

#[component]
fn Event(detail: EventDetail, decisions: Vec<Decision>, stakes: HashMap<i64, Stake>) -> AnyView {
    let EventDetail {
        event,
        payload,
        deliveries,
        conflicts,
    } = detail;
    let id = event.id.to_string();
    let crumbs = vec![Crumb::link("Events", "/events"), Crumb::here(id.clone())];
    let title = format!("Event {id}, {}", event.kind);
    let settled: HashSet<_> = decisions.iter().filter_map(|one| one.conflict).collect();
    let open = conflicts.iter().any(|one| !settled.contains(&one.id));
    let head = head(&event, open);
    let told = told(&event, &deliveries, conflicts.len());
    let table = table(deliveries);
    let side = side(&event);
    let body = payload.map(|payload| payload.body);
    let contradictions = (!conflicts.is_empty()).then(|| {
        let first = body.clone();
        let decisions = decisions.clone();
        view! { <Contradictions first conflicts decisions stakes/> }
    });
    let (id, state) = (event.id, event.state);
    let case = view! { <Case event=id state decisions/> };
    view! {
        <Frame title crumbs>
            {head}
            <div class="split">
                <div class="stack">
                    <Sentence>{told}</Sentence>
                    {case}
                    {contradictions}
                    <Section title="Deliveries" id="deliveries">{table}</Section>
                    <Section title="Content" id="content"><Content body/></Section>
                </div>
                {side}
            </div>
        </Frame>
    }
    .into_any()
}

fn head(event: &EventRow, contradicted: bool) -> AnyView {
    let headline = view! { {event.kind.clone()} }.into_any();
    let test = (!event.livemode).then_some(" · test");
    let aside = view! { "from "{event.source_slug.clone()}{test} }.into_any();
    let at = event.received_at;
    let reason = event.reason.as_deref().map(event_reason);
    let decided = event.decided_at.map(|decided| span(decided - at));
    let due = event.due_at;
    let next = match event.state {
        _ if contradicted => {
            "A person decides between the contents; the first one stands until then"
        }
        EventState::Received => "A worker looks at it",
        EventState::Waiting | EventState::Failed => "It is tried again by itself",
        EventState::Applied | EventState::Ignored => "Nothing is due",
        EventState::Rejected | EventState::Conflict => "A person looks at it",
    };
    view! {
        <ObjectHead
            headline
            aside
            tone=event_tone(event.state)
            state=titled(event.state.as_str())
        >
            <Fact><Time at/></Fact>
            {decided.map(|after| view! { <Fact>"decided "{after}" later"</Fact> })}
            {reason.map(|reason| view! { <Fact>{reason}</Fact> })}
            <NextStep>
                {next}
                {due.map(|at| view! { ", "<Time at style=TimeStyle::Age/> })}
            </NextStep>
        </ObjectHead>
    }
    .into_any()
}

fn told(event: &EventRow, deliveries: &[DeliveryRow], conflicts: usize) -> String {
    let came = match deliveries.len() {
        1 if deliveries[0].asked => "It was asked for once".to_owned(),
        n if deliveries.iter().all(|one| one.asked) && n > 0 => {
            format!("It was asked for {n} times")
        }
        0 | 1 => "It came once".to_owned(),
        n => format!("It came {n} times"),
    };
    let contradicts = match conflicts {
        0 => String::new(),
        n => format!(", in {} contents under one key", n + 1),
    };
    let reason = event
        .reason
        .as_deref()
        .map(|reason| format!(" {}", event_reason(reason)));
    let meaning = event_state_words(event.state);
    format!(
        "{came}{contradicts}. {meaning}{}",
        reason.unwrap_or_default()
    )
}

fn table(deliveries: Vec<DeliveryRow>) -> AnyView {
    let columns = vec![
        Column::text("Arrived"),
        Column::text("Outcome"),
        Column::num("Answered"),
        Column::text("Sender's id"),
        Column::text("From"),
        Column::num("Bytes"),
    ];
    let rows = deliveries.into_iter().map(|row| {
        let from = match row.asked {
            true => Some("asked for".to_owned()),
            false => row.remote_address,
        };
        view! {
            <tr id=format!("delivery-{}", row.id)>
                <th scope="row"><Time at=row.received_at style=TimeStyle::Stamp/></th>
                <td><StateBadge tone=delivery_tone(row.outcome) label=titled(row.outcome.as_str())/></td>
                <td class="num">{row.status}</td>
                <td>{row.sender_id.map(|id| view! { <Id value=id bare=true/> })}</td>
                <td class="muted">{from}</td>
                <td class="num">{row.body_bytes}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <DataTable id="attempts" caption="Deliveries of this event, newest first" columns plain=true>
            {rows}
        </DataTable>
    }
    .into_any()
}

fn side(event: &EventRow) -> AnyView {
    let (id, key) = (event.id.to_string(), event.event_key.clone());
    let (canonical, raw) = (event.canonical_hash.to_string(), event.raw_hash.to_string());
    let reference = event.provider_reference.clone();
    let occurred = event.occurred_at;
    let attempts = (event.attempts > 0).then(|| count(event.attempts, "look", "looks"));
    let job = event.job.or(event.job_hint).map(|job| {
        let href = format!("/jobs/{job}#{id}");
        let words = if event.job.is_some() {
            "Its job"
        } else {
            "The job it names"
        };
        view! { <RelatedLink href>{words}</RelatedLink> }
    });
    let source = event.source_slug.clone();
    let (source_href, others) = (
        format!("/sources#{source}"),
        format!("/events?source={source}"),
    );
    view! {
        <aside class="side" aria-label="About this event">
            <section>
                <h2>"Identity"</h2>
                <KeyValue>
                    <Pair label="Id"><Id value=id what="event id"/></Pair>
                    <Pair label="Key"><Id value=key what="event key"/></Pair>
                    {reference.map(|value| view! {
                        <Pair label="Provider ref"><Id value what="provider reference"/></Pair>
                    })}
                    <Pair label="Canonical"><Id value=canonical what="canonical hash"/></Pair>
                    <Pair label="Body"><Id value=raw what="hash of the body"/></Pair>
                    {occurred.map(|at| view! {
                        <Pair label="Occurred"><Time at style=TimeStyle::Stamp/></Pair>
                    })}
                    {attempts.map(|looks| view! {
                        <Pair label="Without answer">{looks}</Pair>
                    })}
                </KeyValue>
            </section>
            <Related title="Related">
                {job}
                <RelatedLink href=source_href>{format!("Source {source}")}</RelatedLink>
                <RelatedLink href=others>"Events of this source"</RelatedLink>
            </Related>
        </aside>
    }
    .into_any()
}
