//! What a freeze holds back.

use engine::freeze::views::{HeldBack, MOST_COUNTED};
use leptos::prelude::*;

use crate::ui::{Amount, KeyValue, Pair, Section, Time, TimeStyle};
use crate::words::{count, money};

/// What a freeze holds back, as a section of its own.
pub(crate) fn held_back(held: &HeldBack) -> AnyView {
    let oldest = held.oldest.map(|at| {
        view! { <Pair label="Oldest"><Time at style=TimeStyle::Age/></Pair> }
    });
    let (waits, on_hold) = (waits(held), on_hold(held));
    view! {
        <Section title="What is held back" id="held-back">
            <KeyValue>
                <Pair label="Waits">{waits}</Pair>
                {oldest}
                <Pair label="On hold for it">{on_hold}</Pair>
            </KeyValue>
        </Section>
    }
    .into_any()
}

/// Events and jobs in words.
pub(super) fn waits(held: &HeldBack) -> String {
    if held.events == 0 {
        return "Nothing yet".to_owned();
    }
    let more = if held.events >= MOST_COUNTED { "+" } else { "" };
    let events = match held.events {
        1 => "1 event".to_owned(),
        n => format!("{n}{more} events"),
    };
    format!("{events} of {}", count(held.jobs, "job", "jobs"))
}

/// Money on hold, and for whom.
pub(super) fn on_hold(held: &HeldBack) -> AnyView {
    if held.on_hold.is_empty() {
        return view! { <span class="muted">"nothing"</span> }.into_any();
    }
    let parts = held.on_hold.iter().map(|part| {
        let test = (!part.livemode).then_some(", test money");
        let amount = money(part.amount);
        view! {
            <span class="detail"><Amount value=amount/>" for "{part.tenant.clone()}{test}</span>
        }
    });
    parts.collect_view().into_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_counted_in_words() {
        let held = |events, jobs| HeldBack {
            events,
            jobs,
            ..HeldBack::default()
        };
        assert_eq!(waits(&held(0, 0)), "Nothing yet");
        assert_eq!(waits(&held(1, 1)), "1 event of 1 job");
        assert_eq!(waits(&held(MOST_COUNTED, 7)), "10000+ events of 7 jobs");
    }
}
