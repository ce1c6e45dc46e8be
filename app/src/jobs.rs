//! The list of jobs, and the desk of those whose verdict is overdue.

mod page;
mod uncertain;

pub use page::JobsPage;
pub use uncertain::UncertainPage;
