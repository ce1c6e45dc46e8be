//! Every answer a delivery can get, in one table.

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{event::DeliveryOutcome, id::EventId, signature::Reject};
use engine::inbox::{AcceptError, Accepted};

use crate::http::problem::{Kind, Problem};

/// Every answer a delivery can get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// Durably stored, or stored before.
    Stored(Accepted, u16),
    /// Refused; a retry of the same request ends the same way.
    Refused(Refusal),
    /// Not stored, by a fault of ours; a retry is safe.
    NotStored(AcceptError),
}

/// Why a delivery is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    BodyTooLarge,
    BodyCut,
    UnknownSource,
    SourceDisabled,
    NoActiveSecret,
    Signature(Reject),
    OtherAccount,
    NoEventKey,
}

impl Refusal {
    /// The whole table of refusals: answer, and the reason that is recorded.
    pub(super) fn row(self) -> (Kind, &'static str, &'static str) {
        const SAME: &str = "The request is not proven to come from a known source.";
        match self {
            Self::BodyTooLarge => (
                Kind::WebhookTooLarge,
                "body_too_large",
                "The body is larger than this source may send.",
            ),
            Self::BodyCut => (
                Kind::WebhookMalformed,
                "body_cut",
                "The body ended before it was complete.",
            ),
            Self::UnknownSource => (Kind::WebhookRefused, "unknown_source", SAME),
            Self::SourceDisabled => (Kind::WebhookRefused, "source_disabled", SAME),
            Self::NoActiveSecret => (Kind::WebhookRefused, "no_active_secret", SAME),
            Self::OtherAccount => (Kind::WebhookRefused, "other_account", SAME),
            Self::Signature(reject) => match reject {
                Reject::ContentEncoding => (
                    Kind::WebhookEncoded,
                    reject.code(),
                    "The body has a content encoding.",
                ),
                Reject::EmptyBody
                | Reject::InvalidUtf8 { .. }
                | Reject::ByteOrderMark
                | Reject::InvalidJson { .. }
                | Reject::RequestIdMismatch => (
                    Kind::WebhookMalformed,
                    reject.code(),
                    "The signature is right, and the body cannot be read.",
                ),
                Reject::MissingHeader(_)
                | Reject::DuplicateHeader(_)
                | Reject::BadHeader(..)
                | Reject::MissingToken
                | Reject::NoSupportedVersion
                | Reject::SignatureMismatch
                | Reject::TokenMismatch
                | Reject::TimestampTooOld { .. }
                | Reject::TimestampTooNew { .. } => (Kind::WebhookRefused, reject.code(), SAME),
            },
            Self::NoEventKey => (
                Kind::WebhookUnidentified,
                "no_event_key",
                "Nothing in the request identifies the event.",
            ),
        }
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let problem = match self {
            Self::Stored(accepted, ack) => return acknowledged(accepted, ack),
            Self::Refused(refusal) => {
                let (kind, _, detail) = refusal.row();
                Problem::new(kind, detail)
            }
            Self::NotStored(AcceptError::Busy) => {
                Problem::new(Kind::Overloaded, "More deliveries wait than fit the queue.")
            }
            Self::NotStored(AcceptError::Closed) => {
                Problem::new(Kind::Unavailable, "The server is stopping.")
            }
            Self::NotStored(AcceptError::Storage) => {
                Problem::new(Kind::Unavailable, "The delivery could not be stored.")
            }
        };
        problem.into_response()
    }
}

/// 200 or 202, as the source is set up: some senders know only one of them.
fn acknowledged(accepted: Accepted, ack: u16) -> Response {
    let (outcome, event): (DeliveryOutcome, EventId) = match accepted {
        Accepted::New(event) => (DeliveryOutcome::Accepted, event),
        Accepted::Duplicate(event) => (DeliveryOutcome::Duplicate, event),
        Accepted::Conflict(event) => (DeliveryOutcome::Conflict, event),
    };
    let status = StatusCode::from_u16(ack).unwrap_or(StatusCode::OK);
    let json = HeaderValue::from_static("application/json");
    let body = format!(r#"{{"status":"{outcome}","event":"{event}"}}"#);
    (status, [(header::CONTENT_TYPE, json)], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unproven_requests_cannot_be_told_apart() {
        let answer = |refusal: Refusal| {
            let (kind, _, detail) = refusal.row();
            (kind, detail)
        };
        for refusal in [
            Refusal::SourceDisabled,
            Refusal::NoActiveSecret,
            Refusal::OtherAccount,
            Refusal::Signature(Reject::SignatureMismatch),
            Refusal::Signature(Reject::MissingToken),
            Refusal::Signature(Reject::TimestampTooOld { age_s: 301 }),
        ] {
            assert_eq!(answer(refusal), answer(Refusal::UnknownSource));
        }
    }
}
