//! What actions are called.

use domain::action::{Category, Kind, Request, State};

use crate::ui::Tone;
use crate::words::money;

/// The action in a few words: `Give 12.40 EUR`.
pub(crate) fn headline(request: &Request) -> String {
    match (request.kind, request.amount) {
        (Kind::Goodwill, Some(amount)) => format!("Give {}", money(amount)),
        (Kind::Goodwill, None) => "Give credit".to_owned(),
        (Kind::Freeze, _) => "Stop spending".to_owned(),
        (Kind::Unfreeze, _) => "Let spending go on".to_owned(),
    }
}

/// What the button that commits it says.
pub(super) fn effect(request: &Request, waits: bool) -> String {
    match (request.kind, request.amount) {
        (_, _) if waits => "Send for approval".to_owned(),
        (Kind::Goodwill, Some(amount)) => format!("Post {} credit", money(amount)),
        (Kind::Goodwill, None) => "Post the credit".to_owned(),
        (Kind::Freeze, _) => "Freeze the wallet".to_owned(),
        (Kind::Unfreeze, _) => "Lift the freeze".to_owned(),
    }
}

/// The title of the form.
pub(super) fn form_title(kind: Kind) -> &'static str {
    match kind {
        Kind::Goodwill => "Give credit",
        Kind::Freeze => "Freeze the wallet",
        Kind::Unfreeze => "Lift the freeze",
    }
}

/// What the form leads to.
pub(super) fn form_lead(kind: Kind) -> &'static str {
    match kind {
        Kind::Goodwill => {
            "Credit that nobody paid for. It is a grant of its own in the ledger, booked against goodwill."
        }
        Kind::Freeze => {
            "New jobs are refused at once. Jobs that run settle as before, and nothing is lost."
        }
        Kind::Unfreeze => "Jobs are accepted again. A second person has to approve.",
    }
}

/// Where an action stands.
pub(super) fn state_words(state: State) -> &'static str {
    match state {
        State::Draft => "Not committed yet",
        State::Waiting => "Waits for approval",
        State::Done => "Done",
        State::Withdrawn => "Withdrawn",
        State::Refused => "Refused",
        State::Expired => "Expired",
    }
}

/// What a state means to the eye.
pub(crate) fn action_tone(state: State) -> Tone {
    match state {
        State::Done => Tone::Good,
        State::Draft | State::Waiting => Tone::Attention,
        State::Withdrawn | State::Refused | State::Expired => Tone::Neutral,
    }
}

/// A kind of reason, as staff choose it.
pub(super) fn category_words(category: Category) -> &'static str {
    match category {
        Category::Incident => "an incident of ours",
        Category::Complaint => "a complaint",
        Category::Promotion => "a promotion or an agreement",
        Category::Suspicion => "a suspicion",
        Category::Resolved => "what was wrong is resolved",
        Category::Other => "another reason",
    }
}
