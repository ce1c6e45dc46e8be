//! Deliveries: every HTTP attempt; rejected ones with the reason and what to do.

mod page;

pub use page::DeliveriesPage;
