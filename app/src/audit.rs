//! The audit log: who did what, to which object, when and why.

mod page;

pub use page::AuditPage;
