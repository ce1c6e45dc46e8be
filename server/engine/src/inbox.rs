//! The durable inbox: what senders told us, stored before they are answered.
//!
//! # What stays true
//! - **An answer follows its commit.** [`InboxWriter::accept`] returns once the delivery is durably
//!   stored, or says that it is not and that a retry is safe (I7).
//! - **One event for a key, for ever.** Only the constraint `events_key` decides that a delivery is a
//!   repeat (I6). A repeat with the same canonical hash is a duplicate; with another hash both contents
//!   are kept as a conflict and neither replaces the other (I5).
//! - **Nothing else is reachable.** The accept path holds an [`InboxWriter`] and no pool, so it cannot
//!   look anything up, call a provider or wait for a worker.
//!
//! # Cost
//! Concurrent deliveries share commits: each flusher takes what queued up while it was busy, without a
//! timer, and writes it as one statement. Duplicates cost a second and a third one.

mod flusher;
mod pace;
mod queue;
mod rejected;
mod store;
pub mod views;
mod writer;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::{
    adapter::Envelope,
    canonical::Hash,
    id::{EventId, SourceId},
};

pub use rejected::Rejected;
pub use writer::{Flushed, InboxWriter, WriterSettings, WriterTasks};

/// How many rejected deliveries are kept for people to look at.
pub const REJECTED_KEPT: i32 = 10_000;

/// An authentic delivery, ready to be stored.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Who sent it.
    pub source: SourceId,
    /// Name of the source in the URL.
    pub source_slug: String,
    /// Mode of the source.
    pub livemode: bool,
    /// What identifies the event.
    pub envelope: Envelope,
    /// Hash of the body as it came.
    pub raw_hash: Hash,
    /// The body as it came.
    pub body: Bytes,
    /// Request headers as a JSON array of `[name, value]`, credentials left out.
    pub headers: String,
    /// The sender's id of the delivery.
    pub sender_id: Option<String>,
    /// Peer address.
    pub remote_address: Option<String>,
    /// Status that will be answered, or was when we asked.
    pub status: u16,
    /// When it arrived.
    pub received_at: DateTime<Utc>,
    /// Whether we asked for it.
    pub asked: bool,
}

impl Delivery {
    fn key(&self) -> (SourceId, &str) {
        (self.source, &self.envelope.event_key)
    }
}

/// A delivery that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// A new event.
    New(EventId),
    /// An event we had, with the same content.
    Duplicate(EventId),
    /// An event we had, with other content; both are kept.
    Conflict(EventId),
}

impl Accepted {
    /// The event.
    pub fn event(self) -> EventId {
        match self {
            Self::New(event) | Self::Duplicate(event) | Self::Conflict(event) => event,
        }
    }
}

/// Why a delivery is not stored. A retry is safe in every case.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AcceptError {
    /// More is queued than we are willing to hold.
    #[error("the inbox is full")]
    Busy,
    /// The process is shutting down.
    #[error("the inbox is closed")]
    Closed,
    /// The database refused or was lost. It may have stored the delivery all the same; then the retry is
    /// recognised as a duplicate.
    #[error("the delivery could not be stored")]
    Storage,
}
