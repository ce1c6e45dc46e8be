//! Sessions of signed-in browsers. What is kept is the SHA-256 of the id in the cookie: whoever reads
//! the table can open no session.

mod store;

use chrono::{DateTime, Utc};

pub use self::store::{create, delete, load, save};

/// SHA-256 of a session id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionHash(pub [u8; 32]);

/// A session as it is kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// What the session holds.
    pub data: serde_json::Value,
    /// After this instant it is void.
    pub expires_at: DateTime<Utc>,
}
