//! What all lists share: filters that live in the address, the notice for what cannot be read, and
//! pages by key.
//!
//! A filter that cannot be read is never dropped silently: the list says so and shows what it shows
//! without it.

mod export;
mod key;
mod saved;

use std::fmt::Display;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, TimeZone, Utc};
use engine::page::{Cursor, Page};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;

pub(crate) use self::export::Export;
pub(crate) use self::key::Key;
pub(crate) use self::saved::SavedViews;
use crate::shell::{FrameData, Mode};
use crate::ui::{Chip, Choice, EmptyKind, EmptyState, Glyph, Icon, Pager, Tone, ViewLink};

/// The parameter that says where a page starts.
const PAGE: &str = "page";

/// The query of a list's address.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    path: String,
    values: ParamsMap,
    chips: Vec<Chip>,
    problems: Vec<String>,
}

impl Query {
    /// Reads the request's query. Parameters the list does not know are problems.
    pub(crate) fn read(path: impl Into<String>, known: &[&str]) -> Self {
        Self::of(path, use_query_map().read_untracked().clone(), known)
    }

    fn of(path: impl Into<String>, given: ParamsMap, known: &[&str]) -> Self {
        let mut values = ParamsMap::new();
        let mut problems = Vec::new();
        for (key, value) in given {
            if value.trim().is_empty() {
                continue;
            }
            if key == PAGE || known.contains(&key.as_ref()) {
                values.replace(key, value.trim().to_owned());
            } else {
                problems.push(format!(
                    "There is no filter \u{201c}{}\u{201d} here.",
                    cut(&key)
                ));
            }
        }
        Self {
            path: path.into(),
            values,
            chips: Vec::new(),
            problems,
        }
    }

    /// The list's own path.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The text of a filter, as it was typed.
    pub(crate) fn raw(&self, key: &str) -> String {
        self.values.get(key).unwrap_or_default()
    }

    /// A filter of free text.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<String> {
        let value = self.values.get(key)?;
        self.chip(key, value.clone());
        Some(value)
    }

    /// A filter whose text must be a `T`.
    pub(crate) fn parsed<T>(&mut self, key: &'static str) -> Option<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let value = self.values.get(key)?;
        match value.parse() {
            Ok(parsed) => {
                self.chip(key, value);
                Some(parsed)
            }
            Err(error) => {
                self.refuse(key, &value, &error.to_string());
                None
            }
        }
    }

    /// The beginning of a day, in the operator's zone.
    pub(crate) fn day(&mut self, key: &'static str) -> Option<DateTime<Utc>> {
        let value = self.values.get(key)?;
        let zone = FrameData::current().zone;
        let day = NaiveDate::parse_from_str(&value, "%Y-%m-%d").ok();
        let begin = day.map(|day| day.and_time(NaiveTime::MIN));
        match begin.and_then(|begin| zone.offset.from_local_datetime(&begin).single()) {
            Some(at) => {
                self.chip(key, format!("{value} {}", zone.label));
                Some(at.with_timezone(&Utc))
            }
            None => {
                self.refuse(key, &value, "a day is written like 2026-11-30");
                None
            }
        }
    }

    /// Where the page starts.
    pub(crate) fn cursor<K: Key>(&mut self) -> Cursor<K> {
        let Some(value) = self.values.get(PAGE) else {
            return Cursor::Newest;
        };
        let cursor = match value.split_at_checked(1) {
            Some(("o", key)) => K::decode(key).map(Cursor::Older),
            Some(("n", key)) => K::decode(key).map(Cursor::Newer),
            _ => None,
        };
        cursor.unwrap_or_else(|| {
            self.values.remove(PAGE);
            self.problems
                .push("This page of the list cannot be found; here is the newest.".into());
            Cursor::Newest
        })
    }

    fn refuse(&mut self, key: &str, value: &str, why: &str) {
        self.values.remove(key);
        self.problems.push(format!(
            "The filter {key} \u{201c}{}\u{201d} was left out: {why}.",
            cut(value)
        ));
    }

    /// Says what an active filter shows instead of its raw value: a name instead of an id.
    pub(crate) fn name_chip(&mut self, label: &str, value: impl Into<String>) {
        let value = value.into();
        if let Some(chip) = self.chips.iter_mut().find(|chip| chip.label == label) {
            chip.value = value;
        }
    }

    fn chip(&mut self, key: &'static str, value: String) {
        let remove_href = self.without(key);
        self.chips.push(Chip {
            label: key.replace('_', " "),
            value,
            remove_href,
        });
    }

    /// The active filters.
    pub(crate) fn chips(&self) -> Vec<Chip> {
        self.chips.clone()
    }

    /// Whether anything is filtered.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.chips.is_empty()
    }

    /// What could not be read.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// This list from its newest row, without one filter.
    pub(crate) fn without(&self, key: &str) -> String {
        let mut values = self.values.clone();
        values.remove(key);
        values.remove(PAGE);
        format!("{}{}", self.path, values.to_query_string())
    }

    /// This list from its newest row, with its filters.
    pub(crate) fn first(&self) -> String {
        self.without(PAGE)
    }

    /// A common view of this list: only these filters.
    pub(crate) fn view(&self, label: &str, filters: &[(&'static str, &str)]) -> ViewLink {
        let mut wanted = ParamsMap::new();
        for (key, value) in filters {
            wanted.replace(*key, (*value).to_owned());
        }
        let mut current = self.values.clone();
        current.remove(PAGE);
        let mut have: Vec<_> = current.into_iter().collect();
        let mut want: Vec<_> = wanted.clone().into_iter().collect();
        have.sort();
        want.sort();
        ViewLink {
            label: label.into(),
            href: format!("{}{}", self.path, wanted.to_query_string()),
            current: have == want,
        }
    }

    fn page_href<K: Key>(&self, direction: char, key: K) -> String {
        let mut values = self.values.clone();
        values.replace(PAGE, format!("{direction}{}", key.encode()));
        format!("{}{}", self.path, values.to_query_string())
    }
}

/// Text from an address, short enough for a notice.
fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Links to the neighbours of a page, and what it shows.
#[component]
pub(crate) fn Pages(
    /// Rows of the page.
    rows: usize,
    /// What is listed, one and many.
    what: (&'static str, &'static str),
    /// The newer page, if there is one.
    newer: Option<String>,
    /// The older page, if there is one.
    older: Option<String>,
) -> AnyView {
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let more = if newer.is_some() || older.is_some() {
        " on this page"
    } else {
        ""
    };
    let shown = format!("{}{more}", crate::words::count(rows, what.0, what.1));
    view! { <Pager shown newer older/> }.into_any()
}

/// The addresses of a page's neighbours: newer, older.
pub(crate) fn neighbours<T, K: Key>(
    query: &Query,
    page: &Page<T>,
    key: impl Fn(&T) -> K,
) -> (Option<String>, Option<String>) {
    let newer = page
        .rows
        .first()
        .filter(|_| page.newer)
        .map(|row| query.page_href('n', key(row)));
    let older = page
        .rows
        .last()
        .filter(|_| page.older)
        .map(|row| query.page_href('o', key(row)));
    (newer, older)
}

/// The notice above a list for filters that were left out.
#[component]
pub(crate) fn Problems(
    /// What could not be read; none draws nothing.
    problems: Vec<String>,
) -> AnyView {
    (!problems.is_empty())
        .then(|| {
            let problems = problems
                .into_iter()
                .map(|problem| view! { <p>{problem}</p> });
            view! {
                <div class="flash" data-tone=Tone::Attention.as_str() role="status">
                    <Icon glyph=Glyph::StateAttention/>
                    <div>{problems.collect_view()}</div>
                </div>
            }
        })
        .into_any()
}

/// The place of a list without rows: nothing yet, or nothing that matches.
#[component]
pub(crate) fn NoRows(
    /// The list.
    query: Query,
    /// What is listed, in the plural.
    what: &'static str,
    /// How the first one comes to be.
    #[prop(into)]
    nothing: String,
) -> AnyView {
    if query.is_filtered() {
        let href = query.path.clone();
        return view! {
            <EmptyState
                kind=EmptyKind::NoMatch
                title=format!("No {what} match these filters")
                action_href=href
                action="Clear all filters"
            >
                "Take a filter away above, or clear them all."
            </EmptyState>
        }
        .into_any();
    }
    let mode = FrameData::current().mode.word().to_lowercase();
    view! {
        <EmptyState kind=EmptyKind::Nothing title=format!("No {what} in {mode} mode yet")>
            {nothing}
        </EmptyState>
    }
    .into_any()
}

/// Whether lists show real money: they never mix it with tests.
pub(crate) fn livemode() -> bool {
    FrameData::current().mode == Mode::Live
}

/// The answers of a filter: any, then each word of a vocabulary.
pub(crate) fn choices<T: Display>(any: &str, words: &[T]) -> Vec<Choice> {
    let words = words.iter().map(|word| {
        let word = word.to_string();
        Choice::new(word.clone(), word.replace('_', " "))
    });
    std::iter::once(Choice::new("", any)).chain(words).collect()
}

/// The mark of a row that needs a person.
pub(crate) fn mark(tone: Tone) -> Option<&'static str> {
    matches!(tone, Tone::Attention | Tone::Stop).then(|| tone.as_str())
}

#[cfg(test)]
mod tests {
    use domain::job::State;
    use uuid::Uuid;

    use super::*;

    fn query(text: &[(&'static str, &str)]) -> Query {
        let given = text
            .iter()
            .map(|(key, value)| (*key, (*value).to_owned()))
            .collect();
        Query::of("/jobs", given, &["state", "model"])
    }

    #[test]
    fn a_filter_that_cannot_be_read_is_said_and_left_out() {
        let mut query = query(&[
            ("state", "done"),
            ("model", "flux"),
            ("colour", "red"),
            ("x", " "),
        ]);
        assert_eq!(query.parsed::<State>("state"), None);
        assert_eq!(query.text("model").as_deref(), Some("flux"));
        let problems = query.problems().join("\n");
        assert!(
            problems.contains("colour") && problems.contains("pending"),
            "{problems}"
        );
        assert_eq!(query.first(), "/jobs?model=flux");
    }

    #[test]
    fn keys_survive_an_address_and_nonsense_does_not() {
        let id = Uuid::from_u128(7);
        assert_eq!(Uuid::decode(&id.encode()), Some(id));
        assert_eq!(<(Uuid, Uuid)>::decode(&(id, id).encode()), Some((id, id)));
        assert_eq!(i64::decode(&77_i64.encode()), Some(77));
        assert_eq!(i64::decode("-1"), None);
        let mut query = query(&[("page", "older")]);
        assert_eq!(query.cursor::<i64>(), Cursor::Newest);
        assert_eq!(query.problems().len(), 1);
    }

    #[test]
    fn views_know_whether_they_are_shown() {
        let query = query(&[("state", "failed"), ("page", "o7")]);
        assert!(query.view("Failed", &[("state", "failed")]).current);
        assert!(!query.view("All", &[]).current);
    }
}
