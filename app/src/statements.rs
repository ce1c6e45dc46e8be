//! Statements: what providers say they did or billed, and where our usage disagrees.

mod list;
mod page;
mod words;

pub use list::StatementsPage;
pub use page::StatementPage;
