//! What the palette offers: the places of the rail while nothing is typed, the server's answers
//! from `/jump/suggest?q=` after.

use js_sys::{Array, Reflect};
use leptos::prelude::*;
use leptos::wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use super::dom;
use super::palette::Hit;

/// The places of the rail, with the keys that lead there.
pub(super) fn places() -> Vec<Hit> {
    let links = dom::find_all("#rail li a").into_iter();
    links
        .filter_map(|link| {
            Some(Hit {
                href: link.get_attribute("href")?,
                label: link.get_attribute("title")?,
                detail: link
                    .get_attribute("data-key")
                    .map_or_else(String::new, |key| ["g ", &key].concat()),
            })
        })
        .collect()
}

/// Asks the server; `None` when it cannot be asked, and the form still can.
pub(super) async fn ask(text: &str) -> Option<Vec<Hit>> {
    let address = [
        "/jump/suggest?q=",
        &String::from(js_sys::encode_uri_component(text)),
    ]
    .concat();
    let answer = JsFuture::from(window().fetch_with_str(&address))
        .await
        .ok()?;
    let answer: Response = answer.dyn_into().ok()?;
    if !answer.ok() {
        return None;
    }
    let hits: Array = JsFuture::from(answer.json().ok()?)
        .await
        .ok()?
        .dyn_into()
        .ok()?;
    let hits = hits.iter().filter_map(|hit| {
        let text = |name: &str| {
            Reflect::get(&hit, &JsValue::from_str(name))
                .ok()?
                .as_string()
        };
        Some(Hit {
            href: text("href")?,
            label: text("label")?,
            detail: text("detail")?,
        })
    });
    Some(hits.collect())
}
