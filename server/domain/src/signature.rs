//! Who really sent this request: webhook signatures over the raw bytes.
//!
//! # What stays true
//! - **Bytes, not text.** The body is authenticated exactly as it arrived. Decoding comes after,
//!   in [`inspect`], so no two byte sequences can share one signature by way of a lossy decoder.
//! - **Time and keys are arguments.** Nothing here reads a clock, a file or the environment.
//! - **No early exit on secrets.** Every active secret is tried against every signature offered,
//!   compared in constant time, and the results are combined only at the end. A request refused
//!   before its MAC still pays for one, so a missing header looks like a wrong secret to a
//!   stopwatch. Ed25519 keys are public and need no such care.
//! - **One reading.** A header that is repeated, over-long, not printable or ambiguous is refused
//!   instead of interpreted, because the next reader may interpret it differently.
//! - **Wrong configuration fails when it is configured.** [`SecretKey::parse`] says what is wrong
//!   with a secret; [`verify`] cannot meet an empty or half-decoded one.
//!
//! # Order of the answer
//! signature, then freshness, then (in [`inspect`]) empty body, UTF-8, JSON and the sender's own
//! cross-checks. The order is part of the contract: a reason is reported only when everything
//! before it was right, so `timestamp_too_old` also says that the secret is the right one.
//!
//! # Cost
//! One MAC for each active secret. Signatures are decoded into fixed arrays on the stack; only the
//! `v1a` schemes copy the body, because Ed25519 reads its message twice.
//!
//! # Adding a scheme
//! A variant in [`Scheme`] (the compiler then points at every table), a submodule with its
//! signed string, vectors in `tests/vectors`, and its counterpart in [`sign`].

mod fal;
mod headers;
mod inspect;
mod jwks;
mod keys;
mod mac;
mod reject;
mod scheme;
mod shared_secret;
mod sign;
mod standard;
mod timestamped;

pub use inspect::{Examined, Inspected, examine, inspect, parse_json};
pub use keys::{KeyError, Keys, MIN_SECRET_BYTES, SecretKey};
pub use reject::{Fault, Part, Reject};
pub use scheme::{Scheme, Tolerance, UnixSeconds, UnknownScheme};
pub use sign::{Message, SigningKey, sign};

use std::fmt;

use keys::Material;

/// One HTTP request as the verifier needs it. Borrowed: nothing is copied.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// Every header as received, repeated ones included; names in any case.
    pub headers: &'r [(&'r str, &'r [u8])],
    /// The body before any decoding, decompression or parsing.
    pub body: &'r [u8],
    /// The secret path segment of the URL, for [`Scheme::UrlToken`].
    pub token: Option<&'r str>,
}

/// Sizes only: headers and token may be the very secret, and bodies are private.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("headers", &self.headers.len())
            .field("body_bytes", &self.body.len())
            .field("token", &self.token.is_some())
            .finish()
    }
}

/// What a valid signature vouches for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verified<'r> {
    /// The sender's id of this delivery, where the scheme has one. It stays the same on a retry.
    pub delivery_id: Option<&'r str>,
    /// When this attempt was signed, where the scheme says so. It changes on a retry.
    pub timestamp: Option<UnixSeconds>,
    /// The sender's account, where the scheme names it (fal's user id). Pin it per source.
    pub account: Option<&'r str>,
}

/// Checks signature and freshness of `request`.
///
/// # Errors
/// The first [`Reject`] in the order given in the [module documentation](self).
pub fn verify<'r>(
    keys: &Keys,
    request: &Request<'r>,
    now: UnixSeconds,
    tolerance: Tolerance,
) -> Result<Verified<'r>, Reject> {
    let verified = authenticate(keys, request).inspect_err(|reject| {
        if let Material::Hmac(secrets) = &keys.material
            && reject.came_before_the_mac()
        {
            secrets.iter().for_each(|key| waste(key, request.body));
        }
    })?;
    if let Some(timestamp) = verified.timestamp {
        tolerance.check(timestamp, now)?;
    }
    Ok(verified)
}

/// Does the work of a verification and learns nothing from it.
///
/// For a source that does not exist: the answer then takes as long as for one that does.
pub fn imitate(body: &[u8]) {
    waste(&mac::decoy(), body);
}

/// One MAC, made so that the compiler cannot leave it out.
fn waste(key: &mac::HmacKey, body: &[u8]) {
    std::hint::black_box(mac::tag(key, &[std::hint::black_box(body)]));
}

fn authenticate<'r>(keys: &Keys, request: &Request<'r>) -> Result<Verified<'r>, Reject> {
    match (&keys.material, keys.scheme()) {
        (Material::Hmac(secrets), scheme @ (Scheme::Stripe | Scheme::ElevenlabsV0)) => {
            timestamped::authenticate(scheme, secrets, request)
        }
        (Material::Hmac(secrets), scheme) => standard::authenticate_v1(scheme, secrets, request),
        (Material::Ed25519(keys), Scheme::FalEd25519) => fal::authenticate(keys, request),
        (Material::Ed25519(keys), scheme) => standard::authenticate_v1a(scheme, keys, request),
        (Material::Header { name, values }, _) => {
            shared_secret::authenticate_header(name, values, request)
        }
        (Material::Token(tokens), _) => shared_secret::authenticate_token(tokens, request),
    }
}
