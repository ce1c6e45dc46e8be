//! Standard Webhooks and the senders built on it: Svix, OpenAI, Replicate.
//!
//! Signed text: `{id}.{timestamp}.{body}`. Since the parts are joined by full stops, an id that
//! holds one would let the same signature stand for another id and timestamp; it is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};

use super::headers::{self, Offered};
use super::mac::{self, HmacKey};
use super::{Fault, Part, Reject, Request, Scheme, Verified};

/// The three headers, checked one by one.
struct Envelope<'r> {
    id: &'r str,
    timestamp_text: &'r [u8],
    signatures: &'r str,
    verified: Verified<'r>,
}

impl<'r> Envelope<'r> {
    fn read(scheme: Scheme, request: &Request<'r>) -> Result<Self, Reject> {
        let [ids, timestamps, signatures] = header_names(scheme);
        let id = headers::first_of(request, ids, Part::Id)?;
        let timestamp_text = headers::first_of(request, timestamps, Part::Timestamp)?;
        let signatures = headers::first_of(request, signatures, Part::Signature)?;
        let id = headers::name(id, Part::Id)?;
        if id.contains('.') {
            return Err(Reject::BadHeader(Part::Id, Fault::FullStop));
        }
        let timestamp = headers::seconds(timestamp_text, Part::Timestamp)?;
        let signatures = headers::signatures(signatures)?;
        let verified = Verified {
            delivery_id: Some(id),
            timestamp: Some(timestamp),
            account: None,
        };
        Ok(Self {
            id,
            timestamp_text,
            signatures,
            verified,
        })
    }

    fn signed_parts<'a>(&'a self, body: &'a [u8]) -> [&'a [u8]; 5] {
        [self.id.as_bytes(), b".", self.timestamp_text, b".", body]
    }
}

/// Names for id, timestamp and signature, the preferred one first. Svix chooses header by header.
const fn header_names(scheme: Scheme) -> [&'static [&'static str]; 3] {
    match scheme {
        Scheme::SvixV1 => [
            &["svix-id", "webhook-id"],
            &["svix-timestamp", "webhook-timestamp"],
            &["svix-signature", "webhook-signature"],
        ],
        _ => [
            &["webhook-id"],
            &["webhook-timestamp"],
            &["webhook-signature"],
        ],
    }
}

/// `v1`: HMAC-SHA256.
pub(super) fn authenticate_v1<'r>(
    scheme: Scheme,
    keys: &[HmacKey],
    request: &Request<'r>,
) -> Result<Verified<'r>, Reject> {
    let envelope = Envelope::read(scheme, request)?;
    let offered = read_signatures(envelope.signatures, "v1", scheme == Scheme::Openai)?;
    let parts = envelope.signed_parts(request.body);
    if mac::any_matches(keys, &parts, offered.supported()?) {
        Ok(envelope.verified)
    } else {
        Err(Reject::SignatureMismatch)
    }
}

/// `v1a`: Ed25519 over the same text.
pub(super) fn authenticate_v1a<'r>(
    scheme: Scheme,
    keys: &[VerifyingKey],
    request: &Request<'r>,
) -> Result<Verified<'r>, Reject> {
    let envelope = Envelope::read(scheme, request)?;
    let offered = read_signatures::<64>(envelope.signatures, "v1a", false)?;
    let offered = offered.supported()?;
    let message = envelope.signed_parts(request.body).concat();
    let made_by = |key: &VerifyingKey, bytes: &[u8; 64]| {
        key.verify_strict(&message, &Signature::from_bytes(bytes))
            .is_ok()
    };
    if keys
        .iter()
        .any(|key| offered.iter().any(|bytes| made_by(key, bytes)))
    {
        Ok(envelope.verified)
    } else {
        Err(Reject::SignatureMismatch)
    }
}

/// Reads `label,base64` items separated by spaces; items with another label are skipped.
///
/// OpenAI's own libraries also take an item without any label, so `bare` allows that.
fn read_signatures<const N: usize>(
    text: &str,
    label: &str,
    bare: bool,
) -> Result<Offered<N>, Reject> {
    let mut offered = Offered::new();
    for item in text.split(' ').filter(|item| !item.is_empty()) {
        offered.count()?;
        match item.split_once(',') {
            Some((found, encoded)) if found == label => offered.push(decode(encoded)),
            None if bare => offered.push(decode(item)),
            Some(_) | None => {}
        }
    }
    Ok(offered)
}

/// Strict standard base64 (padding, no stray bits) of exactly `N` bytes.
fn decode<const N: usize>(encoded: &str) -> Option<[u8; N]> {
    // The decoder asks for room in whole groups of three bytes: 66 hold the largest, 64.
    let mut buffer = [0; 66];
    let length = STANDARD.decode_slice(encoded, &mut buffer).ok()?;
    buffer[..length].try_into().ok()
}
