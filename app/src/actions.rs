//! Actions on wallets: the form, the dry run with its decision, and what waits for a second person.

mod approvals;
mod form;
mod page;
mod words;

pub use approvals::ApprovalsPage;
pub use form::ActionFormPage;
pub use page::ActionPage;
pub(crate) use words::{action_tone, headline};
