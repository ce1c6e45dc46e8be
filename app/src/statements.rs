//! Statements: what providers say they did or billed, and where our usage disagrees.

mod list;
mod matching;
mod page;
mod words;

pub use list::StatementsPage;
pub use matching::MatchPage;
pub use page::StatementPage;
