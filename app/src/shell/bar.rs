//! The bar: jump to anything, see whether this is real money, and who one is. Each control is a
//! form or a popover, so all of it works without scripts.

use leptos::prelude::*;

use super::{FrameData, Operator};
use crate::ui::{Glyph, Icon};

#[component]
pub(super) fn Bar(frame: FrameData) -> AnyView {
    let back = frame.location.clone();
    view! {
        <header class="bar">
            <button
                type="button"
                class="icon-button menu-button"
                popovertarget="rail"
                aria-label="Menu"
            >
                <Icon glyph=Glyph::Menu/>
            </button>
            <form class="jump" role="search" method="get" action="/jump">
                <Icon glyph=Glyph::Search/>
                <input
                    type="search"
                    name="q"
                    id="jump"
                    placeholder="Jump to any id, reference or user"
                    aria-label="Jump to any id, reference or user"
                    autocomplete="off"
                    spellcheck="false"
                />
                <kbd aria-hidden="true">"/"</kbd>
            </form>
            <span class="mode">{frame.mode.word()}<span class="unseen">" mode"</span></span>
            <span class="zone">{frame.zone.label.clone()}</span>
            <ThemeSwitch frame=frame.clone()/>
            {frame.operator.map(|who| view! { <OperatorMenu who shortcuts=frame.shortcuts back/> })}
        </header>
    }
    .into_any()
}

/// One button that goes round: system, light, dark. The console island answers it without a
/// page load, by the same field values.
#[component]
fn ThemeSwitch(frame: FrameData) -> AnyView {
    let (now, next) = (frame.theme.as_str(), frame.theme.next().as_str());
    let name = format!("Theme: {now}. Change to {next}");
    view! {
        <form method="post" action="/theme" data-theme-switch="">
            <input type="hidden" name="back" value=frame.location/>
            <button class="icon-button" name="theme" value=next aria-label=name.clone() title=name>
                <svg class="icon theme-icon" data-for="system" aria-hidden="true">
                    <use href=Glyph::System.href()></use>
                </svg>
                <svg class="icon theme-icon" data-for="light" aria-hidden="true">
                    <use href=Glyph::Light.href()></use>
                </svg>
                <svg class="icon theme-icon" data-for="dark" aria-hidden="true">
                    <use href=Glyph::Dark.href()></use>
                </svg>
            </button>
        </form>
    }
    .into_any()
}

#[component]
fn OperatorMenu(who: Operator, shortcuts: bool, back: String) -> AnyView {
    let name = format!("Signed in as {}", who.name);
    let (value, words) = if shortcuts {
        ("off", "Turn shortcuts off")
    } else {
        ("on", "Turn shortcuts on")
    };
    view! {
        <button type="button" class="icon-button who" popovertarget="who">
            <span aria-hidden="true">{who.initials()}</span>
            <span class="unseen">{name}</span>
        </button>
        <div class="menu" id="who" popover>
            <p><strong>{who.name}</strong><span class="muted">{who.role}</span></p>
            <form method="post" action="/shortcuts">
                <input type="hidden" name="back" value=back/>
                <button name="shortcuts" value=value><Icon glyph=Glyph::Keyboard/>{words}</button>
            </form>
            <form method="post" action="/sign-out">
                <button><Icon glyph=Glyph::SignOut/>"Sign out"</button>
            </form>
        </div>
    }
    .into_any()
}
