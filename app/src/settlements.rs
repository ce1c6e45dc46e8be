//! Settlements: the list, and one with its key, entries, snapshot and cause.

mod list;
mod page;

pub use list::SettlementsPage;
pub use page::SettlementPage;
