//! The process: configuration, HTTP, the console's plumbing and the command line.
//!
//! A library so that tests and the demo start the same server in-process. Rules live in `domain`,
//! everything that touches PostgreSQL in `engine`, what is drawn in `app`.

pub mod ask;
pub mod cli;
pub mod config;
pub mod console;
pub mod database;
mod demo;
pub mod http;
pub mod jwks;
mod outbound;
pub mod serve;
pub mod telemetry;
