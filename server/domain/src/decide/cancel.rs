//! Cancelling: a request of the customer, not a verdict.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::{Change, release};
use crate::job::{Job, State};

/// What a customer's cancel request does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cancellation {
    /// Never dispatched: cancelled and released at once.
    Released(Box<Change>),
    /// With the provider: the request is on record, the hold waits for the verdict.
    Requested(Box<Job>),
    /// Requested before; nothing changes.
    AlreadyRequested,
    /// Cancelled before; nothing changes.
    AlreadyCancelled,
    /// There is a verdict, or there never was work: nothing to cancel.
    TooLate(State),
}

/// Decides a customer's cancel request, accepted at `now`.
pub fn request_cancel(job: &Job, now: DateTime<Utc>) -> Cancellation {
    match job.state {
        State::Cancelled => return Cancellation::AlreadyCancelled,
        State::Delivering | State::Completed | State::Failed | State::Blocked => {
            return Cancellation::TooLate(job.state);
        }
        State::Pending | State::Running if job.cancel_requested_at.is_some() => {
            return Cancellation::AlreadyRequested;
        }
        State::Pending | State::Running => {}
    }
    let mut next = Job {
        cancel_requested_at: Some(now),
        ..job.clone()
    };
    if job.dispatched {
        return Cancellation::Requested(Box::new(next));
    }
    next.state = State::Cancelled;
    next.state_reason = Some("cancelled by the customer before it was dispatched".to_owned());
    let effect = release(
        &mut next,
        json!({ "verdict": State::Cancelled, "dispatched": false }),
    );
    Cancellation::Released(Box::new(Change {
        job: next,
        effects: vec![effect],
    }))
}
