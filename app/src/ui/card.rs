//! Figures, cards and key-value lists: the furniture around a table.

use leptos::prelude::*;

/// A row of figures, divided by rules like the columns of a ledger.
#[component]
pub fn Figures(
    /// What they answer together, for assistive technology.
    #[prop(into)]
    label: String,
    /// The figures.
    children: Children,
) -> AnyView {
    view! { <section class="figures" aria-label=label>{children()}</section> }.into_any()
}

/// One figure: the question, the number that answers it, and a line that qualifies it.
#[component]
pub fn Figure(
    /// The question, in the reader's words.
    #[prop(into)]
    question: String,
    /// Where the evidence is.
    #[prop(optional, into)]
    href: Option<String>,
    /// The line below: a badge, a comparison, a time.
    #[prop(optional)]
    note: Option<AnyView>,
    /// The number.
    children: Children,
) -> AnyView {
    let value = match href {
        Some(href) => view! { <a href=href>{children()}</a> }.into_any(),
        None => children().into_any(),
    };
    view! {
        <div class="figure">
            <h2 class="question">{question}</h2>
            <p class="value">{value}</p>
            {note.map(|note| view! { <div class="note">{note}</div> })}
        </div>
    }
    .into_any()
}

/// A sheet with a title.
#[component]
pub fn Card(
    /// Its title.
    #[prop(into)]
    title: String,
    /// What is on it.
    children: Children,
) -> AnyView {
    view! { <section class="card"><h2>{title}</h2>{children()}</section> }.into_any()
}

/// Keys and values, as at the head of a statement. Takes [`Pair`]s.
#[component]
pub fn KeyValue(
    /// The pairs.
    children: Children,
) -> AnyView {
    view! { <dl class="pairs">{children()}</dl> }.into_any()
}

/// One key with its value.
#[component]
pub fn Pair(
    /// The key.
    #[prop(into)]
    label: String,
    /// Its value stands at the right edge, as sums do.
    #[prop(optional)]
    num: bool,
    /// The value.
    children: Children,
) -> AnyView {
    view! { <dt>{label}</dt><dd class=num.then_some("num")>{children()}</dd> }.into_any()
}

/// Related objects, for the side of a page. Takes [`RelatedLink`]s.
#[component]
pub fn Related(
    /// The heading.
    #[prop(into)]
    title: String,
    /// The links.
    children: Children,
) -> AnyView {
    view! {
        <section class="related"><h2>{title}</h2><ul>{children()}</ul></section>
    }
    .into_any()
}

/// One related object, or several behind one link.
#[component]
pub fn RelatedLink(
    /// Where to.
    #[prop(into)]
    href: String,
    /// How many, or which.
    #[prop(optional, into)]
    note: Option<String>,
    /// What.
    children: Children,
) -> AnyView {
    view! {
        <li>
            <a href=href>
                <span>{children()}</span>
                {note.map(|note| view! { <span class="muted">{note}</span> })}
            </a>
        </li>
    }
    .into_any()
}
