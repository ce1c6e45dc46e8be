//! Freezes: what is frozen, by whom and why, and what waits for the lift.

mod held;
mod page;

pub(crate) use held::held_back;
pub use page::FreezesPage;
