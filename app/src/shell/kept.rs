//! What was typed into a form that was sent after its session had ended, shown in that form again.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::FrameData;
use crate::ui::{Glyph, Icon, KeyValue, Pair, Tone};

/// Fields that no person types.
const MACHINE: [&str; 12] = [
    "key", "basis", "action", "job", "undoes", "conflict", "field", "decision", "kind", "filter",
    "list", "filters",
];

/// A form as it was sent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Kept {
    /// Where it was sent.
    pub form: String,
    /// Its fields, in order.
    pub fields: Vec<(String, String)>,
}

impl Kept {
    /// What was kept of the form that posts to `form`; nothing for every other form.
    pub(crate) fn of(form: &str) -> Self {
        FrameData::current()
            .kept
            .filter(|kept| kept.form == form)
            .unwrap_or_default()
    }

    /// What a field held; nothing if the form has no such field.
    pub fn text(&self, name: &str) -> String {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// What a field held, or what it holds otherwise.
    pub(crate) fn text_or(&self, name: &str, otherwise: &str) -> String {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map_or_else(|| otherwise.to_owned(), |(_, value)| value.clone())
    }
}

/// Says that input was kept. It is listed as well: the form itself may be gone by now.
#[component]
pub(super) fn KeptBar(kept: Kept) -> AnyView {
    let typed = kept
        .fields
        .into_iter()
        .filter(|(name, value)| !MACHINE.contains(&name.as_str()) && !value.trim().is_empty())
        .map(|(name, value)| view! { <Pair label=name.replace('_', " ")>{value}</Pair> })
        .collect_view();
    view! {
        <div class="flash" data-tone=Tone::Attention.as_str() role="status">
            <Icon glyph=Glyph::StateAttention/>
            <div>
                <p>"Your input was kept; check it and send it again. Nothing was sent yet"</p>
                <details>
                    <summary>"What you had typed"</summary>
                    <KeyValue>{typed}</KeyValue>
                </details>
            </div>
        </div>
    }
    .into_any()
}
