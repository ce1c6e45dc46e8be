//! The way from a list to its file.

use leptos::prelude::*;

use super::{PAGE, Query};

impl Query {
    /// The filters, as they stand in an address.
    pub(crate) fn filters(&self) -> String {
        let mut values = self.values.clone();
        values.remove(PAGE);
        let query = values.to_query_string();
        query.strip_prefix('?').unwrap_or(&query).to_owned()
    }

    /// Where this list is exported, with its filters.
    pub(crate) fn export(&self) -> String {
        let mut values = self.values.clone();
        values.remove(PAGE);
        format!("{}/export.csv{}", self.path, values.to_query_string())
    }
}

/// The way to the whole list as a file, with its filters.
#[component]
pub(crate) fn Export(
    /// The list.
    query: Query,
) -> AnyView {
    let href = query.export();
    view! { <p class="export"><a href=href download="">"Export as CSV"</a></p> }.into_any()
}
