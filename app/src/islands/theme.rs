//! The theme switch without a page load: change the page now, tell the server by the way.

use leptos::prelude::*;
use web_sys::{Event, RequestInit, UrlSearchParams};

use super::dom;

/// Answers any form of the page that is submitted.
pub(super) fn on_submit(event: &Event) {
    let Some(form) = dom::around(event, "[data-theme-switch]") else {
        return;
    };
    let Ok(Some(button)) = form.query_selector("button") else {
        return;
    };
    event.prevent_default();
    let theme = button.get_attribute("value").unwrap_or_default();
    let next = match theme.as_str() {
        "light" => "dark",
        "dark" => "system",
        _ => "light",
    };
    let root = dom::root();
    if theme == "system" {
        dom::unset(&root, "data-theme");
    } else {
        dom::set(&root, "data-theme", &theme);
    }
    let name = ["Theme: ", &theme, ". Change to ", next].concat();
    dom::set(&button, "value", next);
    dom::set(&button, "aria-label", &name);
    dom::set(&button, "title", &name);

    let Ok(fields) = UrlSearchParams::new() else {
        return;
    };
    fields.append("theme", &theme);
    fields.append("back", "/favicon.svg");
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_body(&fields);
    // If it does not arrive, the next page simply has the old theme.
    let _sent = window().fetch_with_str_and_init("/theme", &init);
}
