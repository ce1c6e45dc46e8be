//! What reconciliation found wrong: the list, one exception with what to do about it, and the runs.

mod list;
mod page;
mod runs;
mod stated;
mod words;

pub use list::ExceptionsPage;
pub use page::ExceptionPage;
pub use runs::ReconciliationPage;
