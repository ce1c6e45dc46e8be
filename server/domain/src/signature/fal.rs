//! fal: Ed25519 over `{request id}\n{user id}\n{timestamp}\n{hex SHA-256 of the body}`.
//!
//! The request names no key, so every key of the set is tried. Keys are public: leaving early is
//! no leak.

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};

use super::headers;
use super::{Part, Reject, Request, Verified};

/// The header that names the request; [`inspect`](super::inspect()) compares it with the body.
pub(super) const REQUEST_ID: &str = "x-fal-webhook-request-id";
pub(super) const USER_ID: &str = "x-fal-webhook-user-id";
pub(super) const TIMESTAMP: &str = "x-fal-webhook-timestamp";
pub(super) const SIGNATURE: &str = "x-fal-webhook-signature";

/// Checks the four headers against every key.
pub(super) fn authenticate<'r>(
    keys: &[VerifyingKey],
    request: &Request<'r>,
) -> Result<Verified<'r>, Reject> {
    let request_id = headers::first_of(request, &[REQUEST_ID], Part::Id)?;
    let user_id = headers::first_of(request, &[USER_ID], Part::Account)?;
    let time = headers::first_of(request, &[TIMESTAMP], Part::Timestamp)?;
    let signature = headers::first_of(request, &[SIGNATURE], Part::Signature)?;
    let request_id = headers::name(request_id, Part::Id)?;
    let user_id = headers::name(user_id, Part::Account)?;
    let timestamp = headers::seconds(time, Part::Timestamp)?;
    let signature = headers::signatures(signature)?;

    let mut bytes = [0; 64];
    hex::decode_to_slice(signature, &mut bytes).map_err(|_| Reject::SignatureMismatch)?;
    let signature = Signature::from_bytes(&bytes);
    let message = message(request_id, user_id, time, request.body);
    if keys
        .iter()
        .any(|key| key.verify_strict(&message, &signature).is_ok())
    {
        Ok(Verified {
            delivery_id: Some(request_id),
            timestamp: Some(timestamp),
            account: Some(user_id),
        })
    } else {
        Err(Reject::SignatureMismatch)
    }
}

/// The signed bytes. No part can hold a newline: [`headers::name`] refuses control characters.
pub(super) fn message(request_id: &str, user_id: &str, time: &[u8], body: &[u8]) -> Vec<u8> {
    let mut digest = [0; 64];
    hex::encode_to_slice(Sha256::digest(body), &mut digest).expect("32 bytes are 64 hex digits");
    [request_id.as_bytes(), user_id.as_bytes(), time, &digest].join(&b'\n')
}
