//! Events: the list, and one with its deliveries, content and conflicts.

mod case;
mod content;
mod list;
mod page;

pub use list::EventsPage;
pub use page::EventPage;
