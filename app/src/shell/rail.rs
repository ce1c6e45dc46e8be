//! The rail: where one can go. One element for every width; on a narrow screen it is a popover
//! that the menu button opens without scripts.

use leptos::prelude::*;

use super::FrameData;
use super::frame::Brand;
use crate::ui::{Glyph, Icon};

struct Place {
    label: String,
    href: String,
    glyph: Glyph,
    count: u64,
    /// The letter after `g` that goes there.
    key: Option<&'static str>,
}

fn place(label: &str, href: &str, glyph: Glyph, key: &'static str) -> Place {
    Place {
        label: label.into(),
        href: href.into(),
        glyph,
        count: 0,
        key: Some(key),
    }
}

#[component]
pub(super) fn Rail(frame: FrameData) -> AnyView {
    let path = frame.path().to_owned();
    let work = vec![
        place("Overview", "/", Glyph::Overview, "o"),
        place("Jobs", "/jobs", Glyph::Jobs, "j"),
        place("Events", "/events", Glyph::Events, "e"),
        place("Deliveries", "/deliveries", Glyph::Deliveries, "d"),
        place("Settlements", "/settlements", Glyph::Settlements, "s"),
        place("Wallets", "/wallets", Glyph::Wallets, "w"),
    ];
    let desks: Vec<_> = frame
        .desks
        .into_iter()
        .map(|d| Place {
            label: d.label,
            href: d.href,
            glyph: d.glyph,
            count: d.count,
            key: None,
        })
        .collect();
    let books = vec![
        place("Reconciliation", "/reconciliation", Glyph::Check, "r"),
        place("Statements", "/statements", Glyph::Settlements, "m"),
        place("Tasks", "/tasks", Glyph::Quarantine, "k"),
        place("Audit", "/audit", Glyph::Audit, "a"),
        place("Seals", "/seals", Glyph::Lock, "l"),
    ];
    let set_up = vec![
        place("Sources", "/sources", Glyph::Sources, "u"),
        place("Prices", "/prices", Glyph::Prices, "p"),
        place("Thresholds", "/thresholds", Glyph::Settings, "t"),
    ];
    let desks = (!desks.is_empty()).then(|| {
        view! { <h2 id="rail-desks">"Desks"</h2>{places(desks, &path, Some("rail-desks"))} }
    });
    view! {
        <nav class="rail" id="rail" popover aria-label="Console">
            <Brand/>
            {places(work, &path, None)}
            {desks}
            <h2 id="rail-books">"Books"</h2>
            {places(books, &path, Some("rail-books"))}
            <h2 id="rail-set-up">"Set-up"</h2>
            {places(set_up, &path, Some("rail-set-up"))}
        </nav>
    }
    .into_any()
}

fn places(places: Vec<Place>, path: &str, label: Option<&'static str>) -> impl IntoView + use<> {
    let items: Vec<_> = places
        .into_iter()
        .map(|place| {
            let current = current(&place.href, path);
            let count = (place.count > 0).then(|| {
                view! { <span class="count">{place.count}<span class="unseen">" waiting"</span></span> }
            });
            let title = place.label.clone();
            view! {
                <li>
                    <a
                        href=place.href
                        title=title
                        aria-current=current
                        data-key=place.key
                    >
                        <Icon glyph=place.glyph/>
                        <span class="label">{place.label}</span>
                        {count}
                    </a>
                </li>
            }
        })
        .collect();
    view! { <ul aria-labelledby=label>{items}</ul> }
}

/// `page` for the page itself, `true` for the list above it. A desk is a list with a filter, so
/// an address with a query is never mistaken for the list it filters.
fn current(href: &str, path: &str) -> Option<&'static str> {
    let below = path
        .strip_prefix(href)
        .is_some_and(|rest| rest.starts_with('/'));
    match href {
        _ if href == path => Some("page"),
        "/" => None,
        _ if below => Some("true"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::current;

    #[test]
    fn the_rail_marks_where_one_is() {
        assert_eq!(current("/jobs", "/jobs"), Some("page"));
        assert_eq!(current("/jobs", "/jobs/job_1"), Some("true"));
        assert_eq!(current("/jobs", "/jobsmith"), None);
        assert_eq!(current("/", "/jobs"), None);
        assert_eq!(current("/", "/"), Some("page"));
        assert_eq!(current("/events?state=conflict", "/events"), None);
    }
}
