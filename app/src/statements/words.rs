//! What statements and their groups are called.

use domain::statement::Outcome;
use engine::statement::views::Statement;

use crate::ui::Tone;

/// The outcome, as a headline of its groups.
pub(super) const fn title(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Matched => "Equal",
        Outcome::WithinTolerance => "Within tolerance",
        Outcome::Differs => "Differ",
        Outcome::MissingWithUs => "Missing with us",
        Outcome::MissingWithProvider => "Missing with the provider",
        Outcome::Timing => "Timing",
    }
}

/// What the outcome means.
pub(super) const fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Matched => "both sides say the same",
        Outcome::WithinTolerance => "by no more than is allowed",
        Outcome::Differs => "by more than is allowed",
        Outcome::MissingWithUs => "stated, and we have no usage",
        Outcome::MissingWithProvider => "our usage, and not stated",
        Outcome::Timing => "a job on its way, or of another period",
    }
}

pub(super) const fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Matched | Outcome::WithinTolerance => Tone::Good,
        Outcome::Timing => Tone::Moving,
        Outcome::Differs | Outcome::MissingWithUs | Outcome::MissingWithProvider => Tone::Stop,
    }
}

/// Where a statement stands: its tone and its word.
pub(super) fn standing(one: &Statement) -> (Tone, &'static str) {
    match &one.check {
        None if !one.accepted => (Tone::Attention, "Refused"),
        _ if one.superseded_by.is_some() => (Tone::Neutral, "Superseded"),
        None => (Tone::Moving, "Not checked yet"),
        Some((_, tally)) if tally.alarms() > 0 => (Tone::Stop, "Disagrees"),
        Some(_) => (Tone::Good, "Agrees"),
    }
}
