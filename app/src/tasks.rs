//! Tasks: one decision about many things: what it would do, how far it is, and what came of each.

mod list;
mod page;
mod words;

use domain::task::Kind;
use leptos::prelude::*;

pub use list::TasksPage;
pub use page::TaskPage;

use crate::context::may_act;
use crate::list::Query;
use crate::ui::Button;

/// The way from a list to a task about everything that matches its filters. The task is rehearsed first.
#[component]
pub(crate) fn AboutAll(
    /// The list.
    query: Query,
    /// What is done with each.
    kind: Kind,
    /// Key of the form.
    key: String,
) -> AnyView {
    if !may_act() {
        return ().into_any();
    }
    let label = match kind {
        Kind::Replay => "Look at all of these again…",
        Kind::Repair => "Put all of these right…",
    };
    view! {
        <form class="about-all" method="post" action="/tasks">
            <input type="hidden" name="key" value=key/>
            <input type="hidden" name="kind" value=kind.as_str()/>
            <input type="hidden" name="filter" value=query.filters()/>
            <Button>{label}</Button>
        </form>
    }
    .into_any()
}
