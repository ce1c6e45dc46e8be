//! What the demo and its simulated provider tell each other: the part to play goes in by standard input,
//! so that no secret is seen in a process list; notes come back by standard output, one JSON a line.

use std::{fmt, net::SocketAddr};

use serde::{Deserialize, Serialize};

use super::rates::Rates;

/// A wallet and the key its tenant's backend calls the API with.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Purse {
    /// The wallet's id.
    pub(super) wallet: String,
    /// An API key of its tenant, of its mode.
    pub(super) api_key: String,
}

/// A source and the secret its deliveries are signed with.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Mailbox {
    /// Name in the webhook URL.
    pub(super) slug: String,
    /// `whsec_…`
    pub(super) secret: String,
}

/// Everything the simulated provider needs.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Part {
    /// Where the product is.
    pub(super) base_url: String,
    /// Tag of this run.
    pub(super) run: String,
    /// What plans are drawn from.
    pub(super) seed: u64,
    /// How many jobs at first.
    pub(super) jobs: u64,
    /// Jobs begun in a second at most; `None` for as fast as the product takes them.
    pub(super) rate: Option<u32>,
    /// Whether single jobs follow until it is told to stop.
    pub(super) trickle: bool,
    /// What goes wrong, and how often.
    pub(super) rates: Rates,
    /// In the order of the cast's wallets.
    pub(super) purses: Vec<Purse>,
    /// In the order of the cast's senders.
    pub(super) mailboxes: Vec<Mailbox>,
    /// What it wants to hear from whoever asks about jobs.
    pub(super) answer_token: String,
}

/// Secrets stay out of logs.
impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Part")
            .field("run", &self.run)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// What the provider counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Jobs whose submission was answered.
    pub(super) submitted: u64,
    /// Of those, refused for want of funds.
    pub(super) refused: u64,
    /// Submissions repeated under the same request id.
    pub(super) resubmitted: u64,
    /// Jobs whose part is played to the end.
    pub(super) played: u64,
    /// Events that were acknowledged.
    pub(super) events: u64,
    /// Deliveries that were acknowledged, contradictions among them.
    pub(super) acknowledged: u64,
    /// Deliveries whose answer was not read.
    pub(super) lost: u64,
    /// Contradictions that were acknowledged.
    pub(super) contradicted: u64,
    /// Forgeries that were turned away.
    pub(super) turned_away: u64,
    /// Attempts that had to be made again, because the product was busy or away.
    pub(super) retried: u64,
}

/// What the provider reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(super) enum Note {
    /// How far it is.
    Progress {
        /// So far.
        tally: Tally,
    },
    /// It can be asked about jobs.
    Listening {
        /// Where.
        address: SocketAddr,
    },
    /// It told, asked, how a job ended of which it says nothing by itself.
    Answered {
        /// Which of the run.
        index: u64,
    },
    /// A submission was answered.
    Job {
        /// Which of the run.
        index: u64,
        /// The job, unless refused.
        job: Option<String>,
    },
    /// An answer that no right product gives.
    Trouble {
        /// Which of the run.
        index: u64,
        /// What was answered, and what should have been.
        text: String,
    },
    /// All jobs asked for are played.
    Done {
        /// In all.
        tally: Tally,
    },
}
