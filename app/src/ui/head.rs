//! The head of a page and its sections: where you are, what it is, what happens next.

use leptos::prelude::*;

use super::{Glyph, Icon, StateBadge, Tone};

/// The head of a list or a form.
#[component]
pub fn PageHead(
    /// The page's one `<h1>`.
    #[prop(into)]
    title: String,
    /// What the page answers, in a sentence.
    #[prop(optional, into)]
    lead: Option<String>,
    /// Buttons at the right.
    #[prop(optional)]
    actions: Option<AnyView>,
) -> AnyView {
    view! {
        <header class="page-head">
            <div>
                <h1>{title}</h1>
                {lead.map(|lead| view! { <p class="lead">{lead}</p> })}
            </div>
            {actions.map(|actions| view! { <div class="actions">{actions}</div> })}
        </header>
    }
    .into_any()
}

/// The head of an object: the sum that matters, its state, since when, and what happens next.
#[component]
pub fn ObjectHead(
    /// Inside the page's one `<h1>`: "Captured 0.0420 USD".
    headline: AnyView,
    /// Beside the headline, muted: whose, which model.
    #[prop(optional)]
    aside: Option<AnyView>,
    /// What the state means.
    tone: Tone,
    /// The state, in the books' word.
    #[prop(into)]
    state: String,
    /// Buttons at the right.
    #[prop(optional)]
    actions: Option<AnyView>,
    /// [`Fact`]s and the [`NextStep`].
    children: Children,
) -> AnyView {
    view! {
        <header class="object-head">
            <div class="headline">
                <h1>{headline}</h1>
                {aside.map(|aside| view! { <p class="aside">{aside}</p> })}
                {actions.map(|actions| view! { <div class="actions">{actions}</div> })}
            </div>
            <div class="facts">
                <StateBadge tone label=state solid=true/>
                {children()}
            </div>
        </header>
    }
    .into_any()
}

/// One fact about an object, in its head.
#[component]
pub fn Fact(
    /// The fact.
    children: Children,
) -> AnyView {
    view! { <span>{children()}</span> }.into_any()
}

/// What happens next, by itself and when, or who must act.
#[component]
pub fn NextStep(
    /// The step.
    children: Children,
) -> AnyView {
    view! { <span class="next"><Icon glyph=Glyph::Arrow small=true/><span>{children()}</span></span> }.into_any()
}

/// The answer in a sentence, before any table.
#[component]
pub fn Sentence(
    /// The sentence.
    children: Children,
) -> AnyView {
    view! { <p class="sentence">{children()}</p> }.into_any()
}

/// A section with its heading on a rule.
#[component]
pub fn Section(
    /// The heading.
    #[prop(into)]
    title: String,
    /// Its anchor, so that it can be linked.
    #[prop(into)]
    id: String,
    /// At the right of the heading: a count, a link, a zone.
    #[prop(optional)]
    note: Option<AnyView>,
    /// What it holds.
    children: Children,
) -> AnyView {
    view! {
        <section id=id.clone() aria-labelledby=format!("{id}-title")>
            <div class="section-head">
                <h2 id=format!("{id}-title")>{title}</h2>
                {note.map(|note| view! { <p>{note}</p> })}
            </div>
            {children()}
        </section>
    }
    .into_any()
}
