//! The list of jobs.

mod page;

pub use page::JobsPage;
