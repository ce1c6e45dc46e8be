//! Why a request was refused: a stable code for machines, a hint for people.

use std::fmt;

use super::Scheme;

/// Which piece of the request a refusal is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The sender's id of the delivery.
    Id,
    /// When the attempt was signed.
    Timestamp,
    /// The signature itself.
    Signature,
    /// The sender's account (fal).
    Account,
    /// The header whose value is the shared secret.
    Secret,
}

impl Part {
    /// The header that carries this part under `scheme`, for people.
    #[must_use]
    pub const fn header(self, scheme: Scheme) -> &'static str {
        match (scheme, self) {
            (Scheme::StaticHeader, _) => "shared-secret",
            (Scheme::UrlToken, _) => "URL token",
            (Scheme::Stripe, _) => "Stripe-Signature",
            (Scheme::ElevenlabsV0, _) => "ElevenLabs-Signature",
            (Scheme::FalEd25519, Self::Id) => "X-Fal-Webhook-Request-Id",
            (Scheme::FalEd25519, Self::Timestamp) => "X-Fal-Webhook-Timestamp",
            (Scheme::FalEd25519, Self::Account) => "X-Fal-Webhook-User-Id",
            (Scheme::FalEd25519, _) => "X-Fal-Webhook-Signature",
            (Scheme::SvixV1, Self::Id) => "svix-id (or webhook-id)",
            (Scheme::SvixV1, Self::Timestamp) => "svix-timestamp (or webhook-timestamp)",
            (Scheme::SvixV1, _) => "svix-signature (or webhook-signature)",
            (_, Self::Id) => "webhook-id",
            (_, Self::Timestamp) => "webhook-timestamp",
            (_, _) => "webhook-signature",
        }
    }
}

/// What is wrong with a header that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Nothing in it.
    Empty,
    /// Longer than any sender makes it.
    TooLong,
    /// Bytes that are not printable ASCII.
    NotPrintable,
    /// A timestamp that is not plain decimal digits.
    NotDigits,
    /// A full stop in an id: one signature would then cover two readings of the request.
    FullStop,
    /// More signatures than any rotation needs.
    TooManySignatures,
    /// `t=` is missing.
    NoTimestamp,
    /// `t=` is there twice, and senders' own libraries disagree about which one counts.
    TwoTimestamps,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "is empty",
            Self::TooLong => "is too long",
            Self::NotPrintable => "holds bytes that are not printable ASCII",
            Self::NotDigits => "needs a timestamp of plain digits (whole seconds since 1970)",
            Self::FullStop => "holds a full stop, which makes the signed text ambiguous",
            Self::TooManySignatures => "holds more than 32 signatures",
            Self::NoTimestamp => "has no `t=` item",
            Self::TwoTimestamps => "has more than one `t=` item",
        })
    }
}

/// Why a request was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reject {
    /// The body is compressed; what was signed cannot be told.
    ContentEncoding,
    /// A header the scheme needs is not there.
    MissingHeader(Part),
    /// A header that must be there once is there more than once.
    DuplicateHeader(Part),
    /// A header is there and cannot be read in exactly one way.
    BadHeader(Part, Fault),
    /// The URL has no secret segment.
    MissingToken,
    /// Signatures are offered, but none of a version this scheme accepts.
    NoSupportedVersion,
    /// No active key made any of the signatures.
    SignatureMismatch,
    /// The shared header value or URL token is not one of ours.
    TokenMismatch,
    /// Signed correctly, too long ago.
    TimestampTooOld {
        /// Age by our clock.
        age_s: i64,
    },
    /// Signed correctly, with a time too far ahead of our clock.
    TimestampTooNew {
        /// Lead over our clock.
        lead_s: i64,
    },
    /// Authentic, without a body.
    EmptyBody,
    /// Authentic, and the body is not UTF-8.
    InvalidUtf8 {
        /// Bytes before the first wrong one.
        valid_up_to: usize,
    },
    /// Authentic, and the body starts with a byte order mark, which JSON does not allow.
    ByteOrderMark,
    /// Authentic, and the body is not JSON.
    InvalidJson {
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
    },
    /// Authentic, but header and body name different requests (fal).
    RequestIdMismatch,
}

impl Reject {
    /// The stable code. A byte order mark is one way of not being JSON and shares its code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::ContentEncoding => "content_encoding",
            Self::MissingHeader(_) => "missing_header",
            Self::DuplicateHeader(_) => "duplicate_header",
            Self::BadHeader(..) => "bad_header",
            Self::MissingToken => "missing_token",
            Self::NoSupportedVersion => "no_supported_version",
            Self::SignatureMismatch => "signature_mismatch",
            Self::TokenMismatch => "token_mismatch",
            Self::TimestampTooOld { .. } => "timestamp_too_old",
            Self::TimestampTooNew { .. } => "timestamp_too_new",
            Self::EmptyBody => "empty_body",
            Self::InvalidUtf8 { .. } => "invalid_utf8",
            Self::ByteOrderMark | Self::InvalidJson { .. } => "invalid_json",
            Self::RequestIdMismatch => "request_id_mismatch",
        }
    }

    /// Whether the sender is proven to be who it claims: the signature was right, and what is
    /// wrong came after it. Such a request is worth keeping for a person to look at.
    #[must_use]
    pub const fn is_authentic(self) -> bool {
        match self {
            Self::TimestampTooOld { .. }
            | Self::TimestampTooNew { .. }
            | Self::EmptyBody
            | Self::InvalidUtf8 { .. }
            | Self::ByteOrderMark
            | Self::InvalidJson { .. }
            | Self::RequestIdMismatch => true,
            Self::ContentEncoding
            | Self::MissingHeader(_)
            | Self::DuplicateHeader(_)
            | Self::BadHeader(..)
            | Self::MissingToken
            | Self::NoSupportedVersion
            | Self::SignatureMismatch
            | Self::TokenMismatch => false,
        }
    }

    /// Whether the refusal was decided without computing a MAC.
    pub(super) const fn came_before_the_mac(self) -> bool {
        !self.is_authentic() && !matches!(self, Self::SignatureMismatch | Self::TokenMismatch)
    }

    /// What happened and what to look at, in a sentence or two. For the receiver's own people:
    /// never send it to whoever made the request.
    #[must_use]
    pub fn look_at(self, scheme: Scheme) -> String {
        match self {
            Self::ContentEncoding => "The request has a Content-Encoding. Ask the sender, or the \
                proxy in between, not to compress: the signature must be checked over the bytes \
                that were signed."
                .into(),
            Self::MissingHeader(part) => format!(
                "The {} header is missing. Check that the source uses the right scheme and that no \
                 proxy drops the header.",
                part.header(scheme)
            ),
            Self::DuplicateHeader(part) => format!(
                "The {} header is there more than once, so it is unclear which one counts. Look for \
                 a proxy or client that adds it again.",
                part.header(scheme)
            ),
            Self::BadHeader(part, fault) => format!(
                "The {} header {fault}. Compare it with what the sender logged.",
                part.header(scheme)
            ),
            Self::MissingToken => {
                "The URL has no token after the source name. Give the sender the \
                full URL the source page shows."
                    .into()
            }
            Self::NoSupportedVersion => unsupported(scheme),
            Self::SignatureMismatch => mismatch(scheme).into(),
            Self::TokenMismatch => "The shared secret in the request is none of the active ones. \
                Compare it with the source's configuration; after a rotation keep both active."
                .into(),
            Self::TimestampTooOld { age_s } => format!(
                "The signature is right, but it was made {age_s} s ago. Check this machine's clock \
                 (NTP), look for a queue or proxy that holds requests back, or for a replayed \
                 request."
            ),
            Self::TimestampTooNew { lead_s } => format!(
                "The signature is right, but its time is {lead_s} s ahead of ours. Check this \
                 machine's clock (NTP)."
            ),
            Self::EmptyBody => {
                "The signature is right, but the body is empty. Look for a proxy or \
                middleware that consumed it."
                    .into()
            }
            Self::InvalidUtf8 { valid_up_to } => format!(
                "The signature is right, but the body is not UTF-8: look at the byte at offset \
                 {valid_up_to}."
            ),
            Self::ByteOrderMark => "The signature is right, but the body starts with a byte order \
                mark (EF BB BF), which JSON does not allow. Ask the sender to leave it out."
                .into(),
            Self::InvalidJson { line, column } => format!(
                "The signature is right, but the body is not JSON we can read: look at line {line}, \
                 column {column}. Numbers out of range, lone surrogates and more than 128 levels \
                 are refused too."
            ),
            Self::RequestIdMismatch => "The signature is right, but X-Fal-Webhook-Request-Id and \
                `request_id` in the body name different requests. Treat it as a replay until the \
                sender explains it."
                .into(),
        }
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

fn unsupported(scheme: Scheme) -> String {
    let label = match scheme {
        Scheme::StandardWebhooksV1a => "v1a,…",
        Scheme::Stripe => "v1=… (with no space before it)",
        Scheme::ElevenlabsV0 => "v0=… (with no space before it)",
        _ => "v1,…",
    };
    format!(
        "The {} header offers no signature labelled {label}. Check that the source uses the right \
         scheme for this sender.",
        Part::Signature.header(scheme)
    )
}

const fn mismatch(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::FalEd25519 => {
            "None of the keys made this signature. Fetch the key set again, and check that the body \
             is byte for byte what arrived: a re-written JSON body never verifies."
        }
        Scheme::StandardWebhooksV1a => {
            "None of the public keys made this signature. Check that the key belongs to this \
             endpoint, and that the body is byte for byte what arrived."
        }
        _ => {
            "None of the active secrets made this signature. Check, in this order: that the secret \
             belongs to this endpoint and mode (test or live); that the body is byte for byte what \
             arrived (no re-written JSON, no added or lost newline); that id and timestamp are the \
             ones sent with it."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: [Reject; 15] = [
        Reject::ContentEncoding,
        Reject::MissingHeader(Part::Id),
        Reject::DuplicateHeader(Part::Timestamp),
        Reject::BadHeader(Part::Signature, Fault::TooLong),
        Reject::MissingToken,
        Reject::NoSupportedVersion,
        Reject::SignatureMismatch,
        Reject::TokenMismatch,
        Reject::TimestampTooOld { age_s: 301 },
        Reject::TimestampTooNew { lead_s: 301 },
        Reject::EmptyBody,
        Reject::InvalidUtf8 { valid_up_to: 7 },
        Reject::ByteOrderMark,
        Reject::InvalidJson { line: 1, column: 2 },
        Reject::RequestIdMismatch,
    ];

    /// Codes are stored and matched on by others; changing one is a breaking change.
    #[test]
    fn codes_are_stable() {
        let codes = EVERY.map(Reject::code).join(" ");
        assert_eq!(
            codes,
            "content_encoding missing_header duplicate_header bad_header missing_token \
             no_supported_version signature_mismatch token_mismatch timestamp_too_old \
             timestamp_too_new empty_body invalid_utf8 invalid_json invalid_json \
             request_id_mismatch"
        );
    }

    #[test]
    fn every_refusal_says_what_to_look_at_under_every_scheme() {
        for scheme in Scheme::ALL {
            for reject in EVERY {
                let hint = reject.look_at(scheme);
                assert!(hint.ends_with('.') && !hint.contains("  "), "{hint}");
            }
        }
    }
}
