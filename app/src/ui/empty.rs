//! Nothing to show, said three ways: each with why, and what to do next.

use leptos::prelude::*;

use super::{Glyph, Icon, LinkButton};

/// Why a list is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EmptyKind {
    /// Nothing has happened yet.
    Nothing,
    /// The filter matches nothing.
    NoMatch,
    /// The reader's role may not see it.
    NoPermission,
}

/// The place of a list that has no rows.
#[component]
pub fn EmptyState(
    /// Why it is empty.
    kind: EmptyKind,
    /// Said in a line.
    #[prop(into)]
    title: String,
    /// Where the next step is.
    #[prop(optional, into)]
    action_href: Option<String>,
    /// What the next step is called.
    #[prop(optional, into)]
    action: Option<String>,
    /// Explained in a sentence.
    children: Children,
) -> AnyView {
    let glyph = match kind {
        EmptyKind::Nothing => Glyph::Info,
        EmptyKind::NoMatch => Glyph::Filter,
        EmptyKind::NoPermission => Glyph::Lock,
    };
    view! {
        <section class="empty">
            <Icon glyph/>
            <h2>{title}</h2>
            <p>{children()}</p>
            {action_href.zip(action).map(|(href, action)| view! { <LinkButton href>{action}</LinkButton> })}
        </section>
    }
    .into_any()
}
