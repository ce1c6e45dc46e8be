//! Filters. Their state is the address of the page: a GET form, links for common views, and a
//! removable chip for everything that is active.

use leptos::prelude::*;

use super::{Button, Glyph, Icon};

/// The filter form of a list. Takes [`super::Field`]s and [`super::SelectField`]s.
#[component]
pub fn FilterBar(
    /// The list's own path; the fields become its query.
    #[prop(into)]
    action: String,
    /// What is filtered: "jobs".
    #[prop(into)]
    what: String,
    /// The fields.
    children: Children,
) -> AnyView {
    view! {
        <form method="get" action=action aria-label=format!("Filter {what}")>
            {children()}
            <Button>
                <Icon glyph=Glyph::Filter small=true/>
                "Filter"
            </Button>
        </form>
    }
    .into_any()
}

/// A common view of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewLink {
    /// Its name: "Needs attention".
    pub label: String,
    /// Its address.
    pub href: String,
    /// Whether it is what is shown.
    pub current: bool,
}

/// Common views, one of which may be current.
#[component]
pub fn ViewLinks(
    /// Name of the group, for assistive technology.
    #[prop(into)]
    label: String,
    /// The views.
    links: Vec<ViewLink>,
) -> AnyView {
    let links = links.into_iter().map(|link| {
        view! {
            <a class="chip" href=link.href aria-current=link.current.then_some("page")>{link.label}</a>
        }
    });
    view! { <nav class="chips" aria-label=label>{links.collect_view()}</nav> }.into_any()
}

/// An active filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chip {
    /// What is filtered: "state".
    pub label: String,
    /// By what: "completed".
    pub value: String,
    /// The same page without this filter.
    pub remove_href: String,
}

/// The active filters, each removable, and a way to clear all.
#[component]
pub fn Chips(
    /// The filters; none draws nothing.
    chips: Vec<Chip>,
    /// The list without any filter.
    #[prop(into)]
    clear_href: String,
) -> AnyView {
    (!chips.is_empty())
        .then(|| {
            let chips = chips.into_iter().map(|chip| {
                view! {
                    <li>
                        <a class="chip" href=chip.remove_href>
                            <span class="unseen">"Remove filter "</span>
                            <span class="muted">{chip.label}</span>
                            " "
                            {chip.value}
                            <Icon glyph=Glyph::Cross small=true/>
                        </a>
                    </li>
                }
            });
            view! {
                <ul class="chips" aria-label="Active filters">
                    {chips.collect_view()}
                    <li><a class="clear" href=clear_href>"Clear all"</a></li>
                </ul>
            }
        })
        .into_any()
}
