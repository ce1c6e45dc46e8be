//! The rules of Quittance: money, prices, keys, signatures, state machines, and the one decision —
//! what a fact means for a job.
//!
//! Nothing here does input or output, reads a clock or draws a random number: times, ids and keys are
//! arguments. What is decided here is written by `engine`.

pub mod action;
pub mod adapter;
pub mod ask;
pub mod audit;
pub mod canonical;
pub mod code;
pub mod decide;
pub mod event;
pub mod exception;
pub mod fact;
pub mod freeze;
pub mod id;
pub mod job;
pub mod lot;
pub mod merkle;
pub mod money;
pub mod price;
pub mod saved_view;
pub mod seal;
pub mod settlement;
pub mod signature;
pub mod statement;
pub mod task;
pub mod usage;
