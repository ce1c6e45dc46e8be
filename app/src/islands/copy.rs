//! Copy buttons: any element with `data-copy` copies its value, and the result is announced.

use std::time::Duration;

use leptos::prelude::*;
use leptos::wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use web_sys::Event;

use super::dom;

/// How long a button shows that it has copied.
const SHOWN: Duration = Duration::from_millis(1_600);

/// Answers a click anywhere on the page.
pub(super) fn on_click(event: &Event, announce: WriteSignal<&'static str>) {
    let Some(button) = dom::around(event, "[data-copy]") else {
        return;
    };
    let Some(value) = button.get_attribute("data-copy") else {
        return;
    };
    event.prevent_default();
    // Where the page is not served securely there is no clipboard at all.
    let navigator = window().navigator();
    let clipboard = js_sys::Reflect::get(&navigator, &JsValue::from_str("clipboard"));
    if clipboard.is_ok_and(|clipboard| clipboard.is_undefined()) {
        announce.set("This browser does not allow copying here; select the text instead");
        return;
    }
    let copying = JsFuture::from(navigator.clipboard().write_text(&value));
    leptos::task::spawn_local(async move {
        if copying.await.is_err() {
            announce.set("Not copied: the browser refused");
            return;
        }
        announce.set("Copied");
        dom::set(&button, "data-done", "");
        set_timeout(
            move || {
                announce.set("");
                dom::unset(&button, "data-done");
            },
            SHOWN,
        );
    });
}
