//! The "12 new" bar of a list. Rows never move by themselves: the bar says what came, and a link
//! shows it. It belongs in the `actions` of the list's [`super::PageHead`].

use leptos::prelude::*;

use crate::islands::LiveIsland;

/// Says how much has changed since the page was made. Without scripts it draws nothing.
#[component]
pub fn LiveBar(
    /// What the server sends over `/live?topic=…`: `jobs`, `events`, `job:<id>`.
    #[prop(into)]
    topic: String,
    /// What is counted: "jobs".
    #[prop(into)]
    what: String,
    /// The first page of this list, with its filters.
    #[prop(into)]
    href: String,
) -> AnyView {
    view! {
        <div class="live-slot" data-topic=topic data-what=what data-href=href><LiveIsland/></div>
    }
    .into_any()
}
