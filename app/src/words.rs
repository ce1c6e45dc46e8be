//! What the books' codes mean in plain words, in one place: a reason is said the same way on every
//! page.

use chrono::TimeDelta;
use domain::event::{DeliveryOutcome, EventState, IgnoreReason, RejectReason, WaitReason};
use domain::job::{SettlementState, State};
use domain::money::Amount;
use domain::settlement::Phase;
use rust_decimal::Decimal;

use crate::ui::{AmountText, Tone, number};

/// A sum of money as it is drawn.
pub(crate) fn money(amount: Amount) -> AmountText {
    let currency = amount.currency();
    AmountText::new(amount.value(), currency.code(), currency.minor_exponent())
}

/// A word with its first letter raised, for badges and titles.
pub(crate) fn titled(word: &str) -> String {
    let spaced = word.replace('_', " ");
    let mut letters = spaced.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// A quantity of a meter: `1 image`, `4.91 predict seconds`.
pub(crate) fn quantity(quantity: Decimal, meter: &str) -> String {
    let meter = meter.replace('_', " ");
    let one = quantity == Decimal::ONE;
    let unit = if one {
        meter.strip_suffix('s').unwrap_or(&meter)
    } else {
        &meter
    };
    format!("{} {unit}", number(quantity))
}

/// A span of time, short: `0.4 s`, `5.2 s`, `3 min`.
pub(crate) fn span(delta: TimeDelta) -> String {
    let millis = delta.num_milliseconds().max(0);
    match millis {
        0..=999 => format!("{millis} ms"),
        1_000..=9_999 => format!("{}.{} s", millis / 1_000, millis % 1_000 / 100),
        10_000..=119_999 => format!("{} s", millis / 1_000),
        120_000..=7_199_999 => format!("{} min", millis / 60_000),
        7_200_000..=172_799_999 => format!("{} h", millis / 3_600_000),
        _ => format!("{} days", millis / 86_400_000),
    }
}

/// How many of what: `1 job`, `12 jobs`.
pub(crate) fn count(n: impl Into<i64>, one: &str, many: &str) -> String {
    let n = n.into();
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What a job's state means.
pub(crate) const fn job_tone(state: State) -> Tone {
    match state {
        State::Pending | State::Running | State::Delivering => Tone::Moving,
        State::Completed => Tone::Good,
        State::Failed | State::Cancelled => Tone::Neutral,
        State::Blocked => Tone::Stop,
    }
}

/// What the settlements of a job amount to.
pub(crate) const fn settlement_words(state: SettlementState) -> &'static str {
    match state {
        SettlementState::None => "nothing reserved",
        SettlementState::Reserved => "reserved",
        SettlementState::Captured => "captured",
        SettlementState::Released => "released",
        SettlementState::Adjusted => "captured, then adjusted",
        SettlementState::Reversed => "reversed",
    }
}

/// What an event's state means.
pub(crate) const fn event_tone(state: EventState) -> Tone {
    match state {
        EventState::Received => Tone::Moving,
        EventState::Waiting | EventState::Failed => Tone::Attention,
        EventState::Applied => Tone::Good,
        EventState::Ignored => Tone::Neutral,
        EventState::Rejected | EventState::Conflict => Tone::Stop,
    }
}

/// What an event's state means, in a sentence.
pub(crate) const fn event_state_words(state: EventState) -> &'static str {
    match state {
        EventState::Received => "Stored; a worker looks at it within a second.",
        EventState::Waiting => "Something it needs is not known yet. It is tried again by itself.",
        EventState::Failed => {
            "Processing failed on our side. It is tried again with growing delays."
        }
        EventState::Applied => "It changed its job.",
        EventState::Ignored => "It changed nothing, which is right.",
        EventState::Rejected => "It cannot be used. Nothing was changed; a person has to look.",
        EventState::Conflict => {
            "It contradicts what was settled. What came first stands; a person decides."
        }
    }
}

/// What we made of a delivery.
pub(crate) const fn delivery_tone(outcome: DeliveryOutcome) -> Tone {
    match outcome {
        DeliveryOutcome::Accepted => Tone::Good,
        DeliveryOutcome::Duplicate => Tone::Neutral,
        DeliveryOutcome::Conflict | DeliveryOutcome::Rejected => Tone::Stop,
    }
}

/// What a phase did, in the past tense.
pub(crate) const fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Reserve => "Reserved",
        Phase::Capture => "Captured",
        Phase::Release => "Released",
        Phase::Adjustment => "Adjusted by",
        Phase::Reversal => "Reversed",
        Phase::Grant => "Granted",
        Phase::Expiry => "Expired",
        Phase::Refund => "Refunded",
        Phase::WriteOff => "Written off",
    }
}

/// Why an event waits, failed, was ignored or rejected. What is no code is somebody's own words.
pub(crate) fn event_reason(reason: &str) -> String {
    if let Ok(reason) = reason.parse::<IgnoreReason>() {
        return ignored(reason).into();
    }
    if let Ok(reason) = reason.parse::<WaitReason>() {
        return waiting(reason).into();
    }
    if let Ok(reason) = reason.parse::<RejectReason>() {
        return rejected(reason).into();
    }
    reason.to_owned()
}

const fn ignored(reason: IgnoreReason) -> &'static str {
    match reason {
        IgnoreReason::UnusedType => "Its type is not used here.",
        IgnoreReason::AlreadyStarted => "The job was running already, or past that.",
        IgnoreReason::AlreadyFinal => "A final verdict was heard before.",
        IgnoreReason::AlreadySettled => "This usage is what was billed already.",
        IgnoreReason::OtherCompletionPrevails => {
            "Another completion takes precedence: a higher revision, or it occurred first."
        }
        IgnoreReason::SuccessPrevails => "Success has authority over a later verdict of failure.",
        IgnoreReason::CancelPrevails => {
            "The customer had cancelled before it occurred, and the tenant's policy releases then."
        }
        IgnoreReason::Dismissed => "A person decided that it changes nothing.",
    }
}

const fn waiting(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Job => "No job has this id or provider reference yet.",
        WaitReason::Funds => "The wallet cannot cover it yet.",
        WaitReason::Completion => "The completion it corrects was not heard yet.",
        WaitReason::TenantFrozen => {
            "The billing of its tenant is frozen. It goes through after the lift."
        }
        WaitReason::SourceFrozen => {
            "The billing of its source is frozen. It goes through after the lift."
        }
    }
}

const fn rejected(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::Unreadable => {
            "The adapter cannot read it. Check that the source has the right adapter."
        }
        RejectReason::UnknownJob => {
            "No job turned up within the grace period. Check that the product sends its jobs here."
        }
        RejectReason::ReferenceMismatch => "The job belongs to another provider reference.",
        RejectReason::ReferenceAmbiguous => "Two jobs answer to its reference.",
        RejectReason::SourceMismatch => "The job was given to another source.",
        RejectReason::ModelMismatch => "It speaks of another model than the job's.",
        RejectReason::ModeMismatch => "A test event for live money, or the other way round.",
        RejectReason::UsageUnpriceable => {
            "It completes without usage the price knows. Add a price version that has its meters."
        }
        RejectReason::UsageInvalid => "Its usage is missing or malformed.",
        RejectReason::JobBlocked => "The job was blocked by local policy; no work was ordered.",
        RejectReason::NothingToCorrect => {
            "It corrects the usage of a job that never completed. Check the job with the provider."
        }
        RejectReason::AmountTooLarge => "Its amount is larger than the ledger can hold.",
    }
}

/// Why a delivery was refused, and what to do about it.
pub(crate) fn refusal(reason: &str) -> (&'static str, &'static str) {
    match reason {
        "signature_mismatch" => (
            "No active secret made the signature",
            "Compare the secret of the source with the sender's dashboard; a proxy that rewrites the body breaks it too.",
        ),
        "token_mismatch" => (
            "The shared value is not ours",
            "Compare the header value or URL token with the source's secret.",
        ),
        "missing_header" => (
            "A header the signature needs is missing",
            "Check that the sender signs, and that no proxy drops its headers.",
        ),
        "duplicate_header" => (
            "A signature header came twice",
            "Look for a proxy that adds it again.",
        ),
        "bad_header" => (
            "A signature header cannot be read",
            "Check that the source has the sender's scheme.",
        ),
        "missing_token" => (
            "The URL lacks its secret part",
            "Give the sender the whole webhook URL.",
        ),
        "no_supported_version" => (
            "Signed with a version this scheme does not accept",
            "Check that the source has the sender's scheme.",
        ),
        "timestamp_too_old" => (
            "Signed correctly, but too long ago",
            "A replay, a slow queue, or a clock that is behind: compare clocks, then the source's tolerance.",
        ),
        "timestamp_too_new" => (
            "Signed correctly, with a time ahead of ours",
            "Compare the clocks of both machines.",
        ),
        "empty_body" => (
            "Authentic, but without a body",
            "Ask the sender what it meant to send.",
        ),
        "invalid_utf8" => ("Authentic, but not UTF-8", "Ask the sender for UTF-8."),
        "invalid_json" => ("Authentic, but not JSON", "Ask the sender for JSON."),
        "request_id_mismatch" => (
            "Header and body name different requests",
            "Treat it as forged until the sender explains it.",
        ),
        "content_encoding" => (
            "The body was compressed",
            "Switch compression of request bodies off at the sender.",
        ),
        "body_too_large" | "too_large" => (
            "The body is over the source's limit",
            "Raise the limit of the source, or ask for less.",
        ),
        "other_account" => (
            "Another account of the sender signed it",
            "Compare the account of the source with the sender's dashboard; anyone with an account there can send this.",
        ),
        "unknown_source" => (
            "No source has this name",
            "Check the webhook URL that was given to the sender.",
        ),
        "source_disabled" | "disabled" => (
            "The source is switched off",
            "Switch it on again, or tell the sender to stop.",
        ),
        "too_deep" => (
            "The body is nested too deeply",
            "Ask the sender what it meant to send.",
        ),
        "no_event_key" | "no_id" => (
            "No id can be derived from it",
            "Check that the source has the right adapter.",
        ),
        _ => (
            "Refused",
            "Look the code up with `quittance signature check`.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_say_them() {
        assert_eq!(quantity(Decimal::ONE, "images"), "1 image");
        assert_eq!(
            quantity("4.910".parse().unwrap(), "predict_seconds"),
            "4.91 predict seconds"
        );
    }

    #[test]
    fn spans_read_in_a_fitting_unit() {
        let of = |millis| span(TimeDelta::milliseconds(millis));
        assert_eq!(of(412), "412 ms");
        assert_eq!(of(5_240), "5.2 s");
        assert_eq!(of(61_000), "61 s");
        assert_eq!(of(600_000), "10 min");
    }

    #[test]
    fn every_code_has_a_sentence_and_other_words_pass_through() {
        for reason in RejectReason::ALL {
            assert_ne!(event_reason(reason.as_str()), reason.as_str());
        }
        assert_eq!(event_reason("deadlock detected"), "deadlock detected");
    }

    #[test]
    fn every_signature_refusal_says_what_to_do() {
        for code in [
            "signature_mismatch",
            "timestamp_too_old",
            "unknown_source",
            "other_account",
            "invalid_json",
        ] {
            assert_ne!(refusal(code).0, "Refused", "{code}");
        }
    }
}
