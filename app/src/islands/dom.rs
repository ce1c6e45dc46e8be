//! Short words for the few things the islands do to the document.

use leptos::prelude::{document, window};
use leptos::wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement};

/// `<html>`.
pub(super) fn root() -> Element {
    document()
        .document_element()
        .expect("a document has a root")
}

/// All elements that match, in document order.
pub(super) fn find_all(selector: &str) -> Vec<Element> {
    let Ok(list) = document().query_selector_all(selector) else {
        return Vec::new();
    };
    (0..list.length())
        .filter_map(|i| list.item(i)?.dyn_into().ok())
        .collect()
}

/// The nearest element around the event's target that matches.
pub(super) fn around(event: &Event, selector: &str) -> Option<Element> {
    event
        .target()?
        .dyn_into::<Element>()
        .ok()?
        .closest(selector)
        .ok()
        .flatten()
}

/// Sets an attribute. The names are ours, so it cannot be refused.
pub(super) fn set(element: &Element, name: &str, value: &str) {
    let _accepted = element.set_attribute(name, value);
}

/// Removes an attribute.
pub(super) fn unset(element: &Element, name: &str) {
    let _accepted = element.remove_attribute(name);
}

/// Moves the focus.
pub(super) fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let _focused = element.focus();
    }
}

/// Leaves for another page of this site.
pub(super) fn go(href: &str) {
    let _leaving = window().location().set_href(href);
}
