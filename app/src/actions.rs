//! Actions on wallets and jobs, and freezes of tenants and sources: the form, the dry run with its decision, and what waits for a second person.

mod approvals;
mod decide;
mod form;
mod list;
mod page;
mod thresholds;
mod words;

pub use approvals::ApprovalsPage;
pub use form::{ActionFormPage, JobActionFormPage, SourceActionFormPage, TenantActionFormPage};
pub(crate) use list::{done_by_people, undo};
pub use page::ActionPage;
pub use thresholds::ThresholdsPage;
pub(crate) use words::form_title;
