//! Engine features, each on a database of its own.

mod action;
mod audit;
mod bench;
mod books;
mod case;
mod corrections;
mod disputes;
mod freeze;
mod guards;
mod housekeeping;
mod inbox;
mod job_actions;
mod keys;
mod ledger;
mod matrix;
mod orders;
mod race;
mod reconcile;
mod saved_view;
mod scarce;
mod seal;
mod settle;
mod source;
mod statement;
mod task;
mod views;
