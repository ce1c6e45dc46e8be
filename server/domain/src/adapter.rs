//! Adapters: how a sender's body becomes an identity at acceptance and a fact in the worker.
//!
//! # What stays true
//! - **Two readings, one parser.** [`Adapter::envelope`] runs before the answer and takes only what
//!   identity needs; [`Adapter::fact`] runs in the worker and decides whether the content is usable.
//!   A body that is JSON but makes no sense is therefore stored and answered 2xx, then rejected where
//!   a person sees it, instead of being retried for days by its sender.
//! - **The hash covers what moves money and nothing else.** [`Adapter::covers`] lists the fields. A
//!   re-serialised body, another attempt time or a longer log has the same hash; another quantity has
//!   not. Content we cannot read is compared byte for byte.
//! - **Numbers are text.** Quantities are taken from the raw JSON text; no float ever holds one.
//! - **One reading of a body.** A repeated member among those we read makes the body unreadable.
//! - Texts that reach a column hold no control characters (PostgreSQL text cannot hold NUL).

mod ask;
mod generic;
mod replicate;

use std::{borrow::Cow, collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use crate::{
    canonical::Hash,
    code::code,
    event::RejectReason,
    fact::{Address, Fact},
    id::{JobId, SourceId},
};

pub use ask::{Answer, Question};

/// Longest id, reference or type we keep.
const MAX_NAME_CHARS: usize = 256;
/// Longest reason text we keep for display.
const MAX_REASON_CHARS: usize = 300;
/// Most meters one report may name before it is called unreadable.
const MAX_QUANTITIES: usize = 64;
/// Kind of an event whose body its adapter cannot read.
pub const UNREADABLE: &str = "unreadable";

code!(
    /// How the bodies of a source are read.
    Adapter {
        /// Our documented job event, for gateways and providers that can be told what to send.
        Generic = "generic",
        /// Replicate's prediction object.
        Replicate = "replicate",
    }
);

/// What the receiver knows about an authentic request whose body is JSON.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'r> {
    /// The sender's id of the delivery: the `webhook-id` header, where there is one.
    pub delivery_id: Option<&'r str>,
    /// The `job` parameter of the URL, where there is one.
    pub job_parameter: Option<&'r str>,
    /// The body.
    pub body: &'r str,
}

/// What identifies an event, known before the answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The sender's id, or one derived from stable fields.
    pub event_key: String,
    /// What the sender calls it, or [`UNREADABLE`].
    pub kind: String,
    /// Hash of the fields [`Adapter::covers`] lists.
    pub hash: Hash,
    /// The provider's id of the work.
    pub provider_reference: Option<String>,
    /// Our job id, where the sender echoes it.
    pub job_hint: Option<JobId>,
    /// When it happened, by the sender's clock.
    pub occurred_at: Option<DateTime<Utc>>,
}

/// Why an authentic body is not an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Nothing identifies it, so a retry could not be recognised.
    #[error(
        "no event id: send a webhook-id header, or an id of 1 to 256 printable characters in the body"
    )]
    NoEventKey,
}

/// What an adapter makes of a stored body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// It says something about a job.
    Fact {
        /// Which job.
        about: Address,
        /// What it says.
        fact: Fact,
    },
    /// It is of a type we do not use.
    Unused(String),
}

impl Reading {
    /// The fact, where there is one.
    pub fn fact(&self) -> Option<&Fact> {
        match self {
            Self::Fact { fact, .. } => Some(fact),
            Self::Unused(_) => None,
        }
    }
}

impl Envelope {
    /// Which worker sees it: one number for everything a sender says about one job, so that its events
    /// are taken up together and in order. Only speed depends on it.
    pub fn shard(&self, source: SourceId) -> i16 {
        let source = source.0.as_bytes();
        let hash = match (self.job_hint, &self.provider_reference) {
            (Some(job), _) => fnv_1a(&[job.0.as_bytes()]),
            (None, Some(reference)) => fnv_1a(&[source, reference.as_bytes()]),
            (None, None) => fnv_1a(&[source, self.event_key.as_bytes()]),
        };
        // Fifteen bits: what the column holds.
        i16::try_from(hash >> 17).unwrap_or(0)
    }
}

fn fnv_1a(parts: &[&[u8]]) -> u32 {
    parts
        .iter()
        .copied()
        .flatten()
        .fold(0x811c_9dc5, |hash, byte| {
            (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
        })
}

impl Adapter {
    /// Reads what identifies an event.
    ///
    /// # Errors
    /// When no id can be derived.
    pub fn envelope(self, incoming: &Incoming<'_>) -> Result<Envelope, EnvelopeError> {
        match self {
            Self::Generic => generic::envelope(incoming),
            Self::Replicate => replicate::envelope(incoming),
        }
    }

    /// Reads what a stored body says. The job hint of the envelope is not in the body: the caller adds
    /// it to the address where the body names no job.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn fact(self, body: &[u8]) -> Result<Reading, RejectReason> {
        let body = std::str::from_utf8(body).map_err(|_| RejectReason::Unreadable)?;
        match self {
            Self::Generic => generic::fact(body),
            Self::Replicate => replicate::fact(body),
        }
    }

    /// Fields of the body the canonical hash covers, as paths.
    pub const fn covers(self) -> &'static [&'static str] {
        match self {
            Self::Generic => generic::COVERS,
            Self::Replicate => replicate::COVERS,
        }
    }

    /// Name and version of that list; part of the hash, so that a changed list cannot be mistaken for
    /// changed content without anyone noticing.
    pub const fn schema(self) -> &'static str {
        match self {
            Self::Generic => generic::SCHEMA,
            Self::Replicate => replicate::SCHEMA,
        }
    }
}

/// The envelope of a body its adapter cannot read.
fn unreadable(incoming: &Incoming<'_>, body_id: Option<&str>) -> Result<Envelope, EnvelopeError> {
    let event_key = event_key(incoming, body_id)?;
    Ok(Envelope {
        event_key,
        kind: UNREADABLE.to_owned(),
        hash: Hash::of_bytes(incoming.body.as_bytes()),
        provider_reference: None,
        job_hint: hint(incoming),
        occurred_at: None,
    })
}

/// The id in the header, which stays the same on a retry, before the one in the body.
fn event_key(incoming: &Incoming<'_>, body_id: Option<&str>) -> Result<String, EnvelopeError> {
    let candidates = [incoming.delivery_id, body_id];
    candidates
        .into_iter()
        .flatten()
        .find_map(name)
        .map(str::to_owned)
        .ok_or(EnvelopeError::NoEventKey)
}

/// The job named in the URL. One that is no job id is no hint.
fn hint(incoming: &Incoming<'_>) -> Option<JobId> {
    incoming.job_parameter?.parse().ok()
}

/// An id, reference or type fit for a column.
pub(crate) fn name(text: &str) -> Option<&str> {
    let fits = !text.is_empty()
        && text.chars().count() <= MAX_NAME_CHARS
        && !text.chars().any(char::is_control);
    fits.then_some(text)
}

/// A body that has not the shape its adapter knows.
struct Unfit;

/// RFC 3339, at the microsecond the database keeps: a fact compares the same before and after it was
/// stored.
pub(crate) fn time(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    DateTime::from_timestamp_micros(time.timestamp_micros())
}

/// The sender's own words about a failure, made fit for display.
fn reason(raw: Option<&RawValue>, otherwise: &str) -> String {
    let words = raw.map(|raw| text_of(raw).unwrap_or(Cow::Borrowed(raw.get())));
    let words = words
        .as_deref()
        .map(str::trim)
        .filter(|words| !words.is_empty() && *words != "null");
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    words
        .unwrap_or(otherwise)
        .chars()
        .take(MAX_REASON_CHARS)
        .map(shown)
        .collect()
}

/// The string a raw value holds, if it is one.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

/// Named raw values in which no name is repeated: one of the two would win silently.
#[derive(Debug, Default)]
struct Quantities<'a>(BTreeMap<String, &'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Quantities<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = BTreeMap<String, &'de RawValue>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: de::MapAccess<'de>>(
                self,
                mut members: M,
            ) -> Result<Self::Value, M::Error> {
                let mut read = BTreeMap::new();
                while let Some((name, value)) = members.next_entry::<String, &'de RawValue>()? {
                    if read.len() == MAX_QUANTITIES {
                        return Err(de::Error::custom("too many members"));
                    }
                    if read.insert(name, value).is_some() {
                        return Err(de::Error::custom("a member is repeated"));
                    }
                }
                Ok(read)
            }
        }
        from.deserialize_map(Visitor).map(Self)
    }
}

/// Hash of a value made of strings only, which always has a canonical form.
fn hash_of<T: Serialize>(canonical: &T, body: &str) -> Hash {
    Hash::of(canonical).unwrap_or_else(|_| Hash::of_bytes(body.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn incoming(body: &str) -> Incoming<'_> {
        Incoming {
            delivery_id: Some("msg_1"),
            job_parameter: None,
            body,
        }
    }

    #[test]
    fn a_readable_json_of_no_known_shape_is_kept_under_its_header_id() {
        for adapter in Adapter::ALL {
            for body in [
                "[]",
                "7",
                "null",
                r#""text""#,
                "{}",
                r#"{"type":5}"#,
                r#"{"type":"a","type":"b"}"#,
            ] {
                let envelope = adapter.envelope(&incoming(body)).unwrap();
                assert_eq!(
                    (envelope.event_key.as_str(), envelope.kind.as_str()),
                    ("msg_1", UNREADABLE),
                    "{body}"
                );
                assert_eq!(
                    adapter.fact(body.as_bytes()),
                    Err(RejectReason::Unreadable),
                    "{body}"
                );
                let anonymous = Incoming {
                    delivery_id: None,
                    ..incoming(body)
                };
                assert_eq!(
                    adapter.envelope(&anonymous),
                    Err(EnvelopeError::NoEventKey),
                    "{body}"
                );
            }
            assert_eq!(adapter.fact(b"\xff"), Err(RejectReason::Unreadable));
        }
    }

    #[test]
    fn times_are_read_to_the_microsecond() {
        let read = |text| time(text).map(|time| time.to_rfc3339());
        assert_eq!(
            read("2026-09-21T14:13:01.554207841Z").as_deref(),
            Some("2026-09-21T14:13:01.554207+00:00")
        );
        assert_eq!(
            read("2026-09-21T16:13:01+02:00").as_deref(),
            Some("2026-09-21T14:13:01+00:00")
        );
        assert_eq!(read("2026-09-21"), None);
        assert_eq!(read("1790000000"), None);
    }

    #[test]
    fn names_and_reasons_fit_their_columns() {
        assert_eq!(name("a\0b"), None);
        assert_eq!(name(&"x".repeat(257)), None);
        assert_eq!(name("évènement 7"), Some("évènement 7"));
        let raw: Box<RawValue> = serde_json::from_str(r#""line\u0000one\nline two""#).unwrap();
        assert_eq!(reason(Some(&raw), "failed"), "line one line two");
        let raw: Box<RawValue> = serde_json::from_str(r#"{"code":7}"#).unwrap();
        assert_eq!(reason(Some(&raw), "failed"), r#"{"code":7}"#);
        assert_eq!(reason(None, "failed"), "failed");
    }
}
