//! The product from outside: its program and its HTTP interfaces.

mod ask;
mod bad_input;
mod cli;
mod console;
mod desk;
mod desks;
mod drills;
mod export;
mod fault_proxy;
mod freeze;
mod house;
mod job_life;
mod jobs;
mod kept;
mod saved_views;
mod seals;
mod signature_check;
mod statement;
mod tidy;
mod webhooks;
