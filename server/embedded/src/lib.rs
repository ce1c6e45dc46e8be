//! A private PostgreSQL, run from the programs that the system has installed.
//!
//! The product uses it when no `DATABASE_URL` is given, and the task runner uses it for tests.
//! What must stay true:
//! - the cluster listens on loopback only and asks for a password that nobody else can read;
//! - a directory is used by one owner at a time, and whoever comes second joins the running one;
//! - an owner that died by SIGKILL leaves nothing that the next start cannot put right;
//! - PostgreSQL never runs as root: a root owner starts it as another user.
//!
//! Everything here blocks; an async caller wraps it in `spawn_blocking`.
//!
//! ```no_run
//! use embedded::{Cluster, Settings};
//!
//! let mut cluster = Cluster::start(Settings::durable(".quittance/postgres"))?;
//! println!("DATABASE_URL={}", cluster.url());
//! cluster.stop()?; // dropping it stops it too
//! # Ok::<(), embedded::Error>(())
//! ```

mod account;
mod cluster;
mod error;
mod home;
mod postmaster;
mod programs;

pub use cluster::{Cluster, Profile, Settings};
pub use error::Error;
pub use programs::{MINIMUM_MAJOR, Programs};
