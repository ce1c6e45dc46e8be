//! The overview: is everything settled, is money right, does anyone wait for me, is anything slow.

mod charts;
mod figures;
mod page;

pub use page::OverviewPage;
