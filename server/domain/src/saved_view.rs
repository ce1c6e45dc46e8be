//! Saved views: filters of a list under a name.

use crate::code::code;

code!(
    /// A list whose filters can be saved, by the first part of its address.
    List {
        /// Jobs.
        Jobs = "jobs",
        /// Events.
        Events = "events",
        /// Deliveries.
        Deliveries = "deliveries",
        /// Settlements.
        Settlements = "settlements",
        /// Exceptions.
        Exceptions = "exceptions",
        /// Statements.
        Statements = "statements",
        /// The audit log.
        Audit = "audit",
    }
);

/// Longest name, in characters.
pub const NAME_CHARS: usize = 60;
/// Longest query.
const FILTERS_BYTES: usize = 1000;

/// Why a view cannot be saved as it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Wrong {
    /// No name, or a long one.
    #[error("give it a name of 1 to 60 characters")]
    Name,
    /// Nothing is filtered, or the query is none.
    #[error("filter the list first: a view is its filters")]
    Filters,
}

/// A view that may be saved. `saved_views_name` and `saved_views_filters` restate it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SavedView {
    list: List,
    name: String,
    filters: String,
}

impl SavedView {
    /// Reads what was typed: `filters` is the query of the list's address.
    ///
    /// # Errors
    /// [`Wrong`].
    pub fn read(list: List, name: &str, filters: &str) -> Result<Self, Wrong> {
        let name = name.trim();
        let short = (1..=NAME_CHARS).contains(&name.chars().count());
        if !short || name.chars().any(char::is_control) {
            return Err(Wrong::Name);
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~%+&=*-".contains(&byte);
        let fits = (1..=FILTERS_BYTES).contains(&filters.len());
        if !fits || !filters.bytes().all(plain) {
            return Err(Wrong::Filters);
        }
        Ok(Self {
            list,
            name: name.to_owned(),
            filters: filters.to_owned(),
        })
    }

    /// The list.
    pub fn list(&self) -> List {
        self.list
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The query.
    pub fn filters(&self) -> &str {
        &self.filters
    }

    /// Where it is looked at.
    pub fn href(&self) -> String {
        format!("/{}?{}", self.list, self.filters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, filters: &str, expected: Result<&str, Wrong>) {
        let read = SavedView::read(List::Jobs, name, filters);
        assert_eq!(
            read.map(|view| format!("{} {}", view.name(), view.href())),
            expected.map(str::to_owned)
        );
    }

    #[test]
    fn a_view_has_a_name_and_a_query_of_its_own_list() {
        check(
            "  Failed at Acme ",
            "state=failed&model=a%2Fb",
            Ok("Failed at Acme /jobs?state=failed&model=a%2Fb"),
        );
        check(
            "<script>",
            "state=failed",
            Ok("<script> /jobs?state=failed"),
        );
        check("", "state=failed", Err(Wrong::Name));
        check("two\nlines", "state=failed", Err(Wrong::Name));
        check(&"x".repeat(61), "state=failed", Err(Wrong::Name));
        check("All", "", Err(Wrong::Filters));
        check("Out", "a=b#//evil.example", Err(Wrong::Filters));
        check("Out", "a=\"><script>", Err(Wrong::Filters));
    }
}
