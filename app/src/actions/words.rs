//! What actions are called.

use domain::action::{Category, Kind, Request, State, Target};

use crate::ui::Tone;
use crate::words::money;

/// The action in a few words: `Give 12.40 EUR`.
pub(super) fn headline(request: &Request) -> String {
    match (request.kind, request.amount) {
        (Kind::Goodwill, Some(amount)) => format!("Give {}", money(amount)),
        (Kind::Charge, Some(amount)) => format!("Charge {} more", money(amount)),
        (Kind::Credit, Some(amount)) => format!("Give back {}", money(amount)),
        (Kind::Freeze, _) => match request.target {
            Target::Wallet(_) => "Stop spending".to_owned(),
            Target::Tenant(_) | Target::Source(_) => "Stop billing".to_owned(),
        },
        (Kind::Unfreeze, _) => match request.target {
            Target::Wallet(_) => "Let spending go on".to_owned(),
            Target::Tenant(_) | Target::Source(_) => "Let billing go on".to_owned(),
        },
        (kind, _) => form_title(kind).to_owned(),
    }
}

/// What the button that commits it says.
pub(super) fn effect(request: &Request, waits: bool) -> String {
    match (request.kind, request.amount) {
        (_, _) if waits => "Send for approval".to_owned(),
        (Kind::Goodwill, Some(amount)) => format!("Post {} credit", money(amount)),
        (Kind::Charge | Kind::Credit, Some(_)) => headline(request),
        (kind, _) => title_on(kind, request.target).to_owned(),
    }
}

/// The title of the form, with what it is about.
pub(super) fn title_on(kind: Kind, target: Target) -> &'static str {
    match (kind, target) {
        (Kind::Freeze, Target::Tenant(_)) => "Freeze the tenant",
        (Kind::Freeze, Target::Source(_)) => "Freeze the source",
        (kind, _) => form_title(kind),
    }
}

/// The title of the form.
pub(crate) fn form_title(kind: Kind) -> &'static str {
    match kind {
        Kind::Goodwill => "Give credit",
        Kind::Freeze => "Freeze the wallet",
        Kind::Unfreeze => "Lift the freeze",
        Kind::Charge => "Charge more",
        Kind::Credit => "Give back a part",
        Kind::Reverse => "Reverse the charge",
        Kind::Undo => "Undo a correction",
        Kind::Release => "Give up the hold",
    }
}

/// What the step is called that it would add to the ledger.
pub(super) fn step_title(kind: Kind) -> &'static str {
    match kind {
        Kind::Goodwill => "grant",
        Kind::Freeze | Kind::Unfreeze => "freeze",
        Kind::Charge | Kind::Credit => "adjustment",
        Kind::Reverse | Kind::Undo => "reversal",
        Kind::Release => "release",
    }
}

/// What the form leads to.
pub(super) fn form_lead(kind: Kind, target: Target) -> &'static str {
    match kind {
        Kind::Freeze | Kind::Unfreeze => freeze_lead(kind == Kind::Freeze, target),
        Kind::Goodwill => {
            "Credit that nobody paid for. It is a grant of its own in the ledger, booked against goodwill."
        }
        Kind::Charge => {
            "An adjustment on top of what the job was charged, paid from the wallet now. Usage the provider corrects later moves the charge by its own difference."
        }
        Kind::Credit => {
            "An adjustment against what the job was charged: what it owes shrinks first, then the wallet is credited."
        }
        Kind::Reverse => {
            "The job costs nothing. It stays so even when the provider corrects its usage, until someone undoes the reversal."
        }
        Kind::Undo => "Takes back what that correction did, by an entry of its own.",
        Kind::Release => {
            "No verdict came, so the hold goes back to the wallet. A success that is heard later still charges. A second person has to approve."
        }
    }
}

fn freeze_lead(stops: bool, target: Target) -> &'static str {
    match (stops, target) {
        (true, Target::Wallet(_)) => {
            "New jobs are refused at once. Jobs that run settle as before, and nothing is lost."
        }
        (true, Target::Tenant(_)) => {
            "New jobs for any of its wallets are refused at once. What providers say of its jobs is kept and waits; nothing is lost."
        }
        (true, Target::Source(_)) => {
            "Its webhooks are accepted and answered as before. What they say is kept and waits; nothing is lost."
        }
        (false, Target::Wallet(_)) => "Jobs are accepted again. A second person has to approve.",
        (false, Target::Tenant(_)) => {
            "Jobs are accepted again, and what waited is settled in its order. A second person has to approve."
        }
        (false, Target::Source(_)) => {
            "What waited is settled in its order. A second person has to approve."
        }
    }
}

/// What a freeze or its lift comes to, in the dry run.
pub(super) fn freeze_note(kind: Kind, target: Target) -> &'static str {
    match (kind == Kind::Freeze, target) {
        (true, Target::Wallet(_)) => "new jobs are refused; jobs that run settle as before",
        (true, Target::Tenant(_)) => "new jobs are refused; the events of its jobs wait",
        (true, Target::Source(_)) => "webhooks are accepted; its events wait",
        (false, Target::Wallet(_)) => "jobs are accepted again",
        (false, Target::Tenant(_)) => "jobs are accepted again; what waited is settled",
        (false, Target::Source(_)) => "what waited is settled",
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
pub(super) fn action_tone(state: State) -> Tone {
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
