//! The words of the books, each with what it means and what to do. `/glossary`.

use domain::event::{DeliveryOutcome, EventState};
use domain::job::State;
use domain::settlement::{EntryType, Phase};
use leptos::prelude::*;

use crate::shell::Frame;
use crate::ui::{Column, DataTable, PageHead, Section, StateBadge, Tone};
use crate::words::{delivery_tone, event_state_words, event_tone, job_tone, titled};

/// `/glossary`
#[component]
pub fn GlossaryPage() -> AnyView {
    let jobs = State::ALL
        .iter()
        .map(|state| (job_tone(*state), state.as_str(), job(*state)));
    let jobs = table("jobs", "States of a job", jobs.collect());
    let events = EventState::ALL.iter();
    let events = events.map(|state| {
        (
            event_tone(*state),
            state.as_str(),
            event_state_words(*state),
        )
    });
    let events = table("events", "States of an event", events.collect());
    let deliveries = DeliveryOutcome::ALL.iter();
    let deliveries = deliveries.map(|outcome| {
        (
            delivery_tone(*outcome),
            outcome.as_str(),
            delivery(*outcome),
        )
    });
    let deliveries = table("deliveries", "Outcomes of a delivery", deliveries.collect());
    let phases = Phase::ALL
        .iter()
        .map(|of| (Tone::Neutral, of.as_str(), phase(*of)));
    let phases = table("phases", "Phases of a settlement", phases.collect());
    let entries = entries();
    view! {
        <Frame title="Words">
            <PageHead
                title="The words of the books"
                lead="The same word means the same thing in the console, the API, the database and the logs."
            />
            <div class="stack">{jobs}{events}{deliveries}{phases}{entries}</div>
        </Frame>
    }
    .into_any()
}

fn table(
    id: &'static str,
    title: &'static str,
    words: Vec<(Tone, &'static str, &'static str)>,
) -> AnyView {
    let columns = vec![Column::text("Word"), Column::text("What it means")];
    let rows = words.into_iter().map(|(tone, word, meaning)| {
        view! {
            <tr id=format!("{id}-{word}")>
                <th scope="row"><StateBadge tone label=titled(word)/></th>
                <td>{meaning}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <Section title id>
            <DataTable
                id=format!("{id}-table")
                caption=format!("{title}, word by word")
                columns
                plain=true
            >
                {rows}
            </DataTable>
        </Section>
    }
    .into_any()
}

fn entries() -> AnyView {
    let columns = vec![
        Column::text("Entry"),
        Column::text("Debit"),
        Column::text("Credit"),
    ];
    let rows = EntryType::ALL.iter().map(|entry| {
        let (debit, credit) = entry.accounts();
        view! {
            <tr>
                <th scope="row">{titled(entry.as_str())}</th>
                <td>{debit.to_string()}</td>
                <td>{credit.to_string()}</td>
            </tr>
        }
    });
    let rows = rows.collect_view();
    view! {
        <Section title="Entries of a settlement" id="entries">
            <DataTable id="entries-table" caption="Which account an entry debits and credits" columns plain=true>
                {rows}
            </DataTable>
        </Section>
    }
    .into_any()
}

const fn job(state: State) -> &'static str {
    match state {
        State::Pending => "Accepted, with funds on hold; not known to run yet.",
        State::Running => "The provider works on it. The hold stays until its verdict.",
        State::Delivering => {
            "The provider succeeded and the work is charged; the output is not stored yet."
        }
        State::Completed => "Done and charged.",
        State::Failed => {
            "The provider gave up; the hold went back, unless the job was not refundable."
        }
        State::Cancelled => "Stopped before it was done.",
        State::Blocked => "Refused by local policy before anything was reserved.",
    }
}

const fn delivery(outcome: DeliveryOutcome) -> &'static str {
    match outcome {
        DeliveryOutcome::Accepted => "A new event, stored before it was answered.",
        DeliveryOutcome::Duplicate => "An event we had, with the same content; it changed nothing.",
        DeliveryOutcome::Conflict => {
            "An event we had, with other content; both are kept, and a person decides."
        }
        DeliveryOutcome::Rejected => {
            "Not an event: the reason says why, and nothing of its content is kept."
        }
    }
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Reserve => "Funds are set aside for a job.",
        Phase::Capture => "What was used is charged; what the hold did not need returns.",
        Phase::Release => "The whole hold returns.",
        Phase::Adjustment => "What was charged is corrected by a difference.",
        Phase::Reversal => "A settlement is undone by its mirror.",
        Phase::Grant => "Credit is added.",
        Phase::Expiry => "Credit that was not spent in time is taken off.",
        Phase::Refund => "What was charged is returned.",
        Phase::WriteOff => "What is owed, or an uncertain hold, is given up.",
    }
}
