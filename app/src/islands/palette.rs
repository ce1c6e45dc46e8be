//! The console island: it listens on the document for every page, and draws the jump palette.

use leptos::ev;
use leptos::html::{Dialog, Input};
use leptos::prelude::*;

/// One line of the palette.
#[derive(Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) href: String,
    pub(super) label: String,
    pub(super) detail: String,
}

/// Serves copy buttons, the theme switch, the keyboard and the jump palette of a page.
#[island]
pub fn ConsoleIsland() -> impl IntoView {
    let dialog = NodeRef::<Dialog>::new();
    let input = NodeRef::<Input>::new();
    let (hits, set_hits) = signal(Vec::<Hit>::new());
    let (chosen, choose) = signal(0_usize);
    let (announced, announce) = signal("");

    #[cfg(feature = "hydrate")]
    browser::listen(dialog, input, set_hits, choose, announce);

    #[cfg(not(feature = "hydrate"))]
    let _ = (set_hits, announce);

    let on_input = move |_: ev::Event| {
        #[cfg(feature = "hydrate")]
        browser::type_in(input, set_hits, choose);
    };
    let on_key = move |event: ev::KeyboardEvent| {
        let count = hits.read_untracked().len();
        match event.key().as_str() {
            "ArrowDown" if count > 0 => choose.update(|at| *at = (*at + 1) % count),
            "ArrowUp" if count > 0 => choose.update(|at| *at = (*at + count - 1) % count),
            "Enter" => {
                // Without a line to follow, the form asks the server for the exact answer.
                let Some(hit) = hits.read_untracked().get(chosen.get_untracked()).cloned() else {
                    return;
                };
                go(&hit.href);
            }
            _ => return,
        }
        event.prevent_default();
    };
    let lines = move || {
        let line = |(at, hit): (usize, Hit)| {
            let href = hit.href.clone();
            view! {
                <li
                    role="option"
                    id=["hit-", &at.to_string()].concat()
                    aria-selected=move || if chosen.get() == at { "true" } else { "false" }
                    on:click=move |_| go(&href)
                >
                    <span>{hit.label}</span>
                    <span class="muted">{hit.detail}</span>
                </li>
            }
        };
        hits.get().into_iter().enumerate().map(line).collect_view()
    };
    view! {
        <dialog class="palette" node_ref=dialog aria-label="Jump">
            <form method="get" action="/jump">
                <input
                    node_ref=input
                    name="q"
                    placeholder="Jump to any id, reference, user or page"
                    aria-label="Jump to"
                    role="combobox"
                    aria-expanded="true"
                    aria-controls="hits"
                    aria-activedescendant=move || ["hit-", &chosen.get().to_string()].concat()
                    autocomplete="off"
                    spellcheck="false"
                    on:input=on_input
                    on:keydown=on_key
                />
            </form>
            <ul id="hits" role="listbox" aria-label="Suggestions">{lines}</ul>
            <p class="keys">
                <span><kbd>"↑"</kbd>" "<kbd>"↓"</kbd>" choose"</span>
                <span><kbd>"Enter"</kbd>" open"</span>
                <span><kbd>"j"</kbd>" "<kbd>"k"</kbd>" rows"</span>
                <span><kbd>"Esc"</kbd>" close"</span>
            </p>
        </dialog>
        <p class="unseen" role="status">{announced}</p>
    }
}

/// Leaves for another page.
fn go(href: &str) {
    #[cfg(feature = "hydrate")]
    super::dom::go(href);
    #[cfg(not(feature = "hydrate"))]
    let _ = href;
}

#[cfg(feature = "hydrate")]
mod browser {
    use std::time::Duration;

    use super::*;
    use crate::islands::keys::{self, Wish};
    use crate::islands::{copy, suggest, theme};

    /// How long typing rests before the server is asked.
    const REST: Duration = Duration::from_millis(120);

    pub(super) fn listen(
        dialog: NodeRef<Dialog>,
        input: NodeRef<Input>,
        hits: WriteSignal<Vec<Hit>>,
        choose: WriteSignal<usize>,
        announce: WriteSignal<&'static str>,
    ) {
        let after_g = StoredValue::new(false);
        window_event_listener(ev::keydown, move |event| {
            if matches!(keys::on_key(&event, after_g), Wish::Palette) {
                open(dialog, input, hits, choose);
            }
        });
        window_event_listener(ev::click, move |event| copy::on_click(&event, announce));
        window_event_listener(ev::submit, |event| theme::on_submit(&event));
    }

    fn open(
        dialog: NodeRef<Dialog>,
        input: NodeRef<Input>,
        hits: WriteSignal<Vec<Hit>>,
        choose: WriteSignal<usize>,
    ) {
        let Some((dialog, input)) = dialog.get_untracked().zip(input.get_untracked()) else {
            return;
        };
        if dialog.open() {
            dialog.close();
            return;
        }
        input.set_value("");
        choose.set(0);
        hits.set(suggest::places());
        // Refused only where another modal is open, which then keeps its place.
        if dialog.show_modal().is_ok() {
            let _focused = input.focus();
        }
    }

    /// Offers places that match at once, then what the server knows, unless more was typed since.
    pub(super) fn type_in(
        input: NodeRef<Input>,
        hits: WriteSignal<Vec<Hit>>,
        choose: WriteSignal<usize>,
    ) {
        let Some(input) = input.get_untracked() else {
            return;
        };
        let text = input.value();
        let wanted = text.trim().to_ascii_lowercase();
        let mut near = suggest::places();
        near.retain(|place| place.label.to_ascii_lowercase().contains(&wanted));
        choose.set(0);
        hits.set(near.clone());
        if wanted.is_empty() {
            return;
        }
        set_timeout(
            move || {
                leptos::task::spawn_local(async move {
                    if input.value() != text {
                        return;
                    }
                    let Some(mut far) = suggest::ask(text.trim()).await else {
                        return;
                    };
                    if input.value() == text {
                        far.append(&mut near);
                        hits.set(far);
                    }
                });
            },
            REST,
        );
    }
}
