//! Engine features, each on a database of its own.

mod bench;
mod books;
mod ledger;
mod settle;
mod views;
