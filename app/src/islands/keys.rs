//! The keyboard: `/`, `?` and Ctrl/Cmd-K open the palette, `g` and a letter goes to a place of
//! the rail, `j` and `k` move through the rows of a list. Single keys can be switched off, and
//! none is heard while one types.

use leptos::prelude::*;
use web_sys::KeyboardEvent;

use super::dom;

/// What a key asks for.
pub(super) enum Wish {
    /// Nothing of ours.
    Nothing,
    /// The palette.
    Palette,
}

/// Hears a key anywhere on the page. `after_g` is whether the key before was a `g`.
pub(super) fn on_key(event: &KeyboardEvent, after_g: StoredValue<bool>) -> Wish {
    let key = event.key();
    if (event.ctrl_key() || event.meta_key()) && !event.shift_key() && key == "k" {
        event.prevent_default();
        return Wish::Palette;
    }
    let typing = dom::around(event, "input,textarea,select,dialog,[contenteditable]").is_some();
    if typing || event.ctrl_key() || event.meta_key() || event.alt_key() || switched_off() {
        return Wish::Nothing;
    }
    if after_g.get_value() {
        after_g.set_value(false);
        let place = dom::find_all("[data-key]").into_iter();
        let mut place =
            place.filter(|link| link.get_attribute("data-key").is_some_and(|k| k == key));
        if let Some(href) = place.next().and_then(|link| link.get_attribute("href")) {
            dom::go(&href);
        }
        return Wish::Nothing;
    }
    match key.as_str() {
        "/" | "?" => {
            event.prevent_default();
            return Wish::Palette;
        }
        "g" => after_g.set_value(true),
        "j" => move_row(true),
        "k" => move_row(false),
        _ => {}
    }
    Wish::Nothing
}

fn switched_off() -> bool {
    dom::root().get_attribute("data-shortcuts").is_some()
}

/// Focuses the next or the previous row; from outside the list, the first.
fn move_row(down: bool) {
    let rows = dom::find_all(".row-link");
    let active = document().active_element();
    let at = rows.iter().position(|row| active.as_ref() == Some(row));
    let to = match (at, down) {
        (None, _) => 0,
        (Some(at), true) => at + 1,
        (Some(at), false) => at.saturating_sub(1),
    };
    if let Some(row) = rows.get(to) {
        dom::focus(row);
    }
}
