//! The live bar of a list: counts what came since the page was made and offers to show it. It
//! stops while the page is hidden and can be paused.
//!
//! The server sends over `/live?topic=…`; each message's data is how many changed. After a pause
//! the last id that was seen goes along as `after=…`, so that the count stays right.

use leptos::html::Div;
use leptos::prelude::*;

/// Whether news arrives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Listening,
    Paused,
    #[cfg_attr(
        not(feature = "hydrate"),
        expect(dead_code, reason = "only a browser loses a connection")
    )]
    Lost,
}

/// Counts news; everything it needs to know stands in the `data-` attributes around it.
#[island]
pub fn LiveIsland() -> impl IntoView {
    let root = NodeRef::<Div>::new();
    let (count, set_count) = signal(0_u32);
    let (state, set_state) = signal(State::Listening);
    let (slot, set_slot) = signal((String::new(), String::new()));

    #[cfg(feature = "hydrate")]
    browser::listen(root, state, set_state, set_count, set_slot);
    #[cfg(not(feature = "hydrate"))]
    let _ = (set_count, set_slot);

    let toggle = move |_| {
        set_state.update(|state| {
            *state = if *state == State::Paused {
                State::Listening
            } else {
                State::Paused
            };
        });
    };
    let words = move || match state.get() {
        State::Listening => "Live",
        State::Paused => "Paused",
        State::Lost => "Reconnecting",
    };
    let fresh = move || {
        let count = count.get();
        (count > 0).then(|| {
            let (href, what) = slot.get();
            view! { <a class="fresh" href=href>{[&count.to_string(), " new ", &what, " · show"].concat()}</a> }
        })
    };
    view! {
        <div
            class="live"
            node_ref=root
            data-state=move || match state.get() {
                State::Listening => "listening",
                State::Paused => "paused",
                State::Lost => "lost",
            }
        >
            <span role="status">{fresh}</span>
            <span class="dot"></span>
            <span class="word">{words}</span>
            <button type="button" on:click=toggle>
                {move || if state.get() == State::Paused { "Resume" } else { "Pause" }}
            </button>
        </div>
    }
}

#[cfg(feature = "hydrate")]
mod browser {
    use leptos::ev;
    use leptos::wasm_bindgen::JsCast;
    use leptos::wasm_bindgen::closure::Closure;
    use web_sys::{Event, EventSource, MessageEvent};

    use super::*;

    pub(super) fn listen(
        root: NodeRef<Div>,
        state: ReadSignal<State>,
        set_state: WriteSignal<State>,
        count: WriteSignal<u32>,
        slot: WriteSignal<(String, String)>,
    ) {
        let (hidden, set_hidden) = signal(document().hidden());
        window_event_listener(ev::visibilitychange, move |_| {
            set_hidden.set(document().hidden())
        });

        let wanted = Memo::new(move |_| state.get() != State::Paused && !hidden.get());
        let last = StoredValue::new(String::new());
        Effect::new(move |open: Option<Option<EventSource>>| {
            if let Some(old) = open.flatten() {
                old.close();
            }
            let root = root.get()?;
            let around = root.closest("[data-topic]").ok().flatten()?;
            let attribute = |name| around.get_attribute(name).unwrap_or_default();
            slot.set((attribute("data-href"), attribute("data-what")));
            if !wanted.get() {
                return None;
            }
            let topic = String::from(js_sys::encode_uri_component(&attribute("data-topic")));
            let after = String::from(js_sys::encode_uri_component(&last.get_value()));
            connect(
                &["/live?topic=", &topic, "&after=", &after].concat(),
                last,
                set_state,
                count,
            )
        });
    }

    /// Opens the stream. The browser reconnects by itself; only the word changes meanwhile.
    fn connect(
        address: &str,
        last: StoredValue<String>,
        state: WriteSignal<State>,
        count: WriteSignal<u32>,
    ) -> Option<EventSource> {
        let source = EventSource::new(address).ok()?;
        let on_message = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            last.set_value(message.last_event_id());
            let more = message
                .data()
                .as_string()
                .and_then(|data| data.parse().ok())
                .unwrap_or(1);
            count.update(|count| *count = count.saturating_add(more));
        });
        let told = move |now: State| {
            Closure::<dyn FnMut(Event)>::new(move |_| {
                state.update(|state| {
                    if *state != State::Paused {
                        *state = now;
                    }
                });
            })
        };
        let (on_open, on_error) = (told(State::Listening), told(State::Lost));
        source.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
        source.set_onopen(Some(on_open.as_ref().unchecked_ref()));
        source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        // They live as long as the page, which ends with the next navigation.
        on_message.forget();
        on_open.forget();
        on_error.forget();
        Some(source)
    }
}
