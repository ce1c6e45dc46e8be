//! Facts: events after their adapter has read them.

use chrono::{DateTime, Utc};

use crate::{
    canonical::Hash,
    id::JobId,
    usage::{Usage, Validated},
};

/// What a provider says about a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It runs.
    Running,
    /// It is done, wholly or in part.
    Succeeded {
        /// What it consumed.
        usage: Usage<Validated>,
        /// Only part of the work was done.
        partial: bool,
    },
    /// What a completion consumed was measured again. Never a completion itself: it says nothing about
    /// whether the work is to be charged, only how much of it there was.
    Corrected {
        /// What it consumed.
        usage: Usage<Validated>,
        /// Counts up from 2: the completion itself reported revision 1.
        revision: i32,
    },
    /// It failed.
    Failed {
        /// The provider's words, cut for display.
        reason: String,
    },
    /// It was stopped.
    Cancelled {
        /// The provider's words, cut for display.
        reason: String,
    },
}

/// One fact about one job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What is said.
    pub verdict: Verdict,
    /// When it occurred, by the provider's clock.
    pub occurred_at: DateTime<Utc>,
    /// Canonical hash of the event; decides ties between facts of one instant.
    pub hash: Hash,
}

/// How a fact names its job.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Address {
    /// Our id, where the sender echoes it.
    pub job: Option<JobId>,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// The model, where the sender names it in our terms.
    pub model: Option<String>,
}
