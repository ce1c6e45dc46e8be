//! The proof: transitions, events, usage and settlements merged into one order of time.

use chrono::{DateTime, Utc};
use domain::settlement::{AccountKind, Phase};
use engine::settlement::views::{
    self, DrawView, EventLine, JobProof, SettlementView, SideView, TransferView,
};
use leptos::prelude::*;
use rust_decimal::Decimal;

use super::snapshot::{Document, places, sum, usage_words};
use crate::ui::{
    AmountText, BalanceShift, Id, Move, ProofTimeline, StateBadge, Step, Time, TimeStyle, Tone,
};
use crate::words::{count, event_reason, event_tone, money, span, titled};

/// One step with its place: time first, then what comes first at one instant.
struct Entry<'a> {
    at: DateTime<Utc>,
    rank: u8,
    what: What<'a>,
}

enum What<'a> {
    Accepted(&'a views::Step),
    Changed(&'a views::Step),
    Cancel,
    Heard(&'a EventLine),
    Used(&'a SettlementView),
    Settled(&'a SettlementView),
}

/// The whole proof of a job.
#[component]
pub(super) fn Timeline(proof: JobProof) -> AnyView {
    let places = places(sums(&proof));
    let mut before: Option<DateTime<Utc>> = None;
    let steps: Vec<_> = entries(&proof)
        .into_iter()
        .map(|entry| {
            let gap = before
                .map(|before| entry.at - before)
                .filter(|gap| gap.num_milliseconds() > 0);
            before = Some(entry.at);
            let gap = gap.map(|gap| format!("+{}", span(gap)));
            draw(&proof, &entry, gap, places)
        })
        .collect();
    let job = &proof.job;
    let note = format!(
        "charged {}, on hold {}, owed {}",
        money(job.captured).figure(),
        money(job.held).figure(),
        money(job.receivable).figure(),
    );
    let captured = money(job.captured);
    view! {
        <ProofTimeline label="How this job came to what it cost">
            {steps}
            <Step id="net" title="net" note=Some(note) amount=Some(captured) places/>
        </ProofTimeline>
    }
    .into_any()
}

/// Every step in order. Facts come before what was made of them: at one instant the event stands
/// above the usage read from it, the settlement below, and the job's new state last.
fn entries(proof: &JobProof) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for step in &proof.steps {
        let accepted = step.from.is_none();
        let what = if accepted {
            What::Accepted(step)
        } else {
            What::Changed(step)
        };
        entries.push(Entry {
            at: step.at,
            rank: if accepted { 0 } else { 5 },
            what,
        });
    }
    if let Some(at) = proof.job.cancel_requested_at {
        entries.push(Entry {
            at,
            rank: 1,
            what: What::Cancel,
        });
    }
    for event in &proof.events {
        entries.push(Entry {
            at: event.received_at,
            rank: 2,
            what: What::Heard(event),
        });
    }
    for settlement in &proof.settlements {
        let at = settlement.line.settled_at;
        if Document::read(&settlement.snapshot).rating.is_some() {
            entries.push(Entry {
                at,
                rank: 3,
                what: What::Used(settlement),
            });
        }
        entries.push(Entry {
            at,
            rank: 4,
            what: What::Settled(settlement),
        });
    }
    // Stable: what was written first stays first.
    entries.sort_by_key(|entry| (entry.at, entry.rank));
    entries
}

fn sums(proof: &JobProof) -> Vec<Decimal> {
    let transfers = proof
        .settlements
        .iter()
        .flat_map(|settlement| &settlement.transfers);
    let balances = transfers
        .clone()
        .flat_map(|x| [x.debit.balance, x.credit.balance])
        .flatten();
    let balances = balances.flat_map(|(before, after)| [before.value(), after.value()]);
    transfers
        .clone()
        .map(|x| x.amount.value())
        .chain(balances)
        .chain([proof.job.quote.value()])
        .collect()
}

fn draw(proof: &JobProof, entry: &Entry<'_>, gap: Option<String>, places: u8) -> AnyView {
    match entry.what {
        What::Accepted(step) => accepted(proof, step, gap, places),
        What::Changed(step) => changed(step, gap),
        What::Cancel => view! {
            <Step
                id="cancel"
                at=Some(entry.at)
                gap
                title="cancel requested"
                note=Some("by the customer; the provider's verdict decides about the hold".to_owned())
            />
        }
        .into_any(),
        What::Heard(event) => heard(event, gap),
        What::Used(settlement) => used(settlement, gap, places),
        What::Settled(settlement) => settled(settlement, gap, places),
    }
}

fn accepted(proof: &JobProof, step: &views::Step, gap: Option<String>, places: u8) -> AnyView {
    let job = &proof.job;
    let blocked = step.to == domain::job::State::Blocked;
    let (title, tone) = if blocked {
        ("blocked", Tone::Stop)
    } else {
        ("accepted", Tone::Neutral)
    };
    let note = match (&step.detail, blocked) {
        (Some(reason), true) => reason.clone(),
        _ => format!("quoted by price v{} of {}", job.price_version, job.model),
    };
    let request = job.client_request_id.clone();
    view! {
        <Step
            id="accepted"
            at=Some(step.at)
            gap
            tone
            title
            note=Some(note)
            amount=Some(money(job.quote))
            places
        >
            <span class="muted">
                "client request "<Id value=request what="client request id"/>
            </span>
        </Step>
    }
    .into_any()
}

fn changed(step: &views::Step, gap: Option<String>) -> AnyView {
    let from = step.from.map(|state| format!("was {state}, "));
    let cause = match step.cause.as_str() {
        "attach" => "handed to the provider".to_owned(),
        "cancel" => "cancelled by the customer".to_owned(),
        "output" => "its output was stored".to_owned(),
        "event" => match step.event {
            Some(event) => format!("by {event}"),
            None => "by an event".to_owned(),
        },
        other => format!("by {other}"),
    };
    let detail = step
        .detail
        .as_ref()
        .map(|detail| format!(": {detail}"))
        .unwrap_or_default();
    let note = format!("{}{cause}{detail}", from.unwrap_or_default());
    view! {
        <Step
            id=format!("state-{}", step.number)
            at=Some(step.at)
            gap
            tone=crate::words::job_tone(step.to)
            title=step.to.as_str()
            note=Some(note)
        />
    }
    .into_any()
}

fn heard(event: &EventLine, gap: Option<String>) -> AnyView {
    let duplicates = event.deliveries - 1 - event.conflicts;
    let mut note = vec![format!("from {}, signature ok", event.source_slug)];
    if duplicates > 0 {
        let absorbed = count(duplicates, "duplicate absorbed", "duplicates absorbed");
        note.push(format!("delivered {} times, {absorbed}", event.deliveries));
    }
    if event.conflicts > 0 {
        note.push(format!(
            "{} with other content",
            count(event.conflicts, "delivery", "deliveries")
        ));
    }
    let tone = if event.open_conflicts > 0 {
        Tone::Stop
    } else {
        event_tone(event.state)
    };
    let (state, label) = (event_tone(event.state), titled(event.state.as_str()));
    let (id, key) = (event.event.to_string(), event.event_key.clone());
    let href = format!("/events/{id}");
    let occurred = event.occurred_at.map(|at| {
        view! { <span class="muted">"occurred "<Time at style=TimeStyle::Clock/></span> }
    });
    let conflict = (event.conflicts > 0).then(|| {
        let href = format!("{href}#conflicts");
        view! { <a href=href>"Compare both contents"</a> }
    });
    let reason = event.reason.as_deref().map(|reason| {
        view! { <span class="muted">{event_reason(reason)}</span> }
    });
    view! {
        <Step
            id=event.event.to_string()
            at=Some(event.received_at)
            gap
            tone
            title=event.kind.clone()
            note=Some(note.join(", "))
        >
            <StateBadge tone=state label/>
            {reason}
            <span class="muted">"event "<Id value=id href what="event id"/></span>
            <span class="muted">"key "<Id value=key what="event key"/></span>
            {occurred}
            {conflict}
        </Step>
    }
    .into_any()
}

fn used(settlement: &SettlementView, gap: Option<String>, places: u8) -> AnyView {
    let document = Document::read(&settlement.snapshot);
    let Some(rating) = document.rating else {
        return ().into_any();
    };
    let note = format!(
        "{}, rated by price v{}",
        usage_words(&rating),
        rating.version
    );
    let key = &settlement.line.key;
    view! {
        <Step
            id=format!("usage-{}-{}", key.phase, key.version)
            at=Some(settlement.line.settled_at)
            gap
            title="usage"
            note=Some(note)
            amount=Some(sum(&rating, rating.total))
            places
        >
            <a href="#pricing">"arithmetic"</a>
        </Step>
    }
    .into_any()
}

fn settled(settlement: &SettlementView, gap: Option<String>, places: u8) -> AnyView {
    let key = settlement.line.key;
    let tone = match key.phase {
        Phase::Capture => Tone::Good,
        Phase::Adjustment | Phase::Reversal | Phase::WriteOff => Tone::Attention,
        _ => Tone::Neutral,
    };
    let nothing = settlement
        .transfers
        .is_empty()
        .then(|| money(settlement.line.amount));
    let note = match (
        Document::read(&settlement.snapshot).reason,
        nothing.is_some(),
    ) {
        (Some(reason), _) => Some(reason),
        (None, true) => Some("nothing had to move".to_owned()),
        (None, false) => lots(&settlement.draws),
    };
    let href = format!("/settlements/{}", settlement.line.id);
    let cause = settlement.line.event.map(|event| {
        let href = format!("#{event}");
        view! { <span class="muted">"caused by "<a href=href>{event.to_string()}</a></span> }
    });
    view! {
        <Step
            id=format!("{}-{}", key.phase, key.version)
            at=Some(settlement.line.settled_at)
            gap
            tone
            title=format!("{}/{}", key.phase, key.version)
            note
            amount=nothing
            moves=moves(&settlement.transfers)
            shifts=shifts(&settlement.transfers)
            places
        >
            <span class="muted">"key "<Id value=key.to_string() href what="settlement key"/></span>
            {cause}
        </Step>
    }
    .into_any()
}

/// Which lots the credit came from or went back to.
fn lots(draws: &[DrawView]) -> Option<String> {
    let (first, rest) = draws.split_first()?;
    let verb = if first.drawn.is_positive() {
        "drawn from"
    } else {
        "back into"
    };
    let lot = match first.expires_at {
        Some(at) => format!("credit that expires {}", at.format("%-d %B %Y")),
        None => "credit that never expires".into(),
    };
    let more = (!rest.is_empty()).then(|| {
        format!(
            " and {}",
            count(
                i64::try_from(rest.len()).unwrap_or(0),
                "other lot",
                "other lots"
            )
        )
    });
    Some(format!("{verb} {lot}{}", more.unwrap_or_default()))
}

/// The movements of a settlement, as drawn.
fn moves(transfers: &[TransferView]) -> Vec<Move> {
    let drawn = transfers.iter().map(|x| Move {
        entry: x.entry_type.as_str().replace('_', " "),
        from: x.debit.kind.to_string(),
        to: x.credit.kind.to_string(),
        amount: money(x.amount),
    });
    drawn.collect()
}

/// What a settlement did to each wallet account: the balance before its first transfer and after
/// its last.
pub(crate) fn shifts(transfers: &[TransferView]) -> Vec<BalanceShift> {
    let mut shifts: Vec<(AccountKind, AmountText, AmountText)> = Vec::new();
    let sides = transfers.iter().flat_map(|x| [&x.debit, &x.credit]);
    for SideView { kind, balance, .. } in sides {
        let Some((before, after)) = balance else {
            continue;
        };
        match shifts.iter_mut().find(|(known, ..)| known == kind) {
            Some(shift) => shift.2 = money(*after),
            None => shifts.push((*kind, money(*before), money(*after))),
        }
    }
    let drawn = shifts
        .into_iter()
        .map(|(kind, before, after)| BalanceShift {
            account: kind.to_string(),
            before,
            after,
        });
    drawn.collect()
}
