//! The answer for a whole request: signature, freshness, then whether the body can be read.

use serde_json::Value;

use super::{Keys, Reject, Request, Scheme, Tolerance, UnixSeconds, Verified, verify};

/// A request that may be acted upon.
#[derive(Clone, PartialEq, Debug)]
pub struct Inspected<'r> {
    /// What the signature vouches for.
    pub verified: Verified<'r>,
    /// The body, parsed. For ids and states: a number with a fraction may have been rounded on its
    /// way through a float, so quantities are read from the text of the body.
    pub json: Value,
}

/// Checks everything that can be decided from the request alone.
///
/// # Errors
/// The first [`Reject`] in the order of the [module documentation](super). A refusal for which
/// [`Reject::is_authentic`] holds is about a request the sender really made.
pub fn inspect<'r>(
    keys: &Keys,
    request: &Request<'r>,
    now: UnixSeconds,
    tolerance: Tolerance,
) -> Result<Inspected<'r>, Reject> {
    if is_encoded(request) {
        return Err(Reject::ContentEncoding);
    }
    let verified = verify(keys, request, now, tolerance)?;
    let json = parse_json(request.body)?;
    check_request_id(keys.scheme(), &verified, &json)?;
    Ok(Inspected { verified, json })
}

/// Reads an authenticated body: it must be there, be UTF-8 and be JSON.
///
/// # Errors
/// [`Reject::EmptyBody`], [`Reject::InvalidUtf8`], [`Reject::ByteOrderMark`] or
/// [`Reject::InvalidJson`].
pub fn parse_json(body: &[u8]) -> Result<Value, Reject> {
    if body.is_empty() {
        return Err(Reject::EmptyBody);
    }
    let text = std::str::from_utf8(body).map_err(|error| Reject::InvalidUtf8 {
        valid_up_to: error.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Reject::ByteOrderMark);
    }
    serde_json::from_str(text).map_err(|error| Reject::InvalidJson {
        line: error.line(),
        column: error.column(),
    })
}

/// Whether a content coding other than `identity` is declared, however often.
fn is_encoded(request: &Request<'_>) -> bool {
    request.headers.iter().any(|(name, value)| {
        let value = value.trim_ascii();
        name.eq_ignore_ascii_case("content-encoding")
            && !value.is_empty()
            && !value.eq_ignore_ascii_case(b"identity")
    })
}

/// fal names the request twice; only one of the two is what the adapter will read.
fn check_request_id(scheme: Scheme, verified: &Verified<'_>, json: &Value) -> Result<(), Reject> {
    if scheme != Scheme::FalEd25519 {
        return Ok(());
    }
    let in_body = json.get("request_id").and_then(Value::as_str);
    if in_body == verified.delivery_id {
        Ok(())
    } else {
        Err(Reject::RequestIdMismatch)
    }
}
