//! One header with time and signatures, `t=…,v1=…`: Stripe and ElevenLabs.
//!
//! Signed text: `{t}.{body}`; the signature is lower-case hex. Labels other than the scheme's own
//! are skipped: Stripe adds a worthless `v0` to test deliveries.

use super::headers::{self, Offered};
use super::mac::{self, HmacKey};
use super::{Fault, Part, Reject, Request, Scheme, Verified};

/// Checks the header of `scheme` against every secret.
pub(super) fn authenticate<'r>(
    scheme: Scheme,
    keys: &[HmacKey],
    request: &Request<'r>,
) -> Result<Verified<'r>, Reject> {
    let (name, label) = match scheme {
        Scheme::ElevenlabsV0 => ("elevenlabs-signature", "v0"),
        _ => ("stripe-signature", "v1"),
    };
    let header = headers::first_of(request, &[name], Part::Signature)?;
    let header = headers::signatures(header)?;

    let mut time = None;
    let mut offered = Offered::new();
    for item in header.split(',') {
        offered.count()?;
        match item.split_once('=') {
            Some(("t", _)) if time.is_some() => {
                return Err(Reject::BadHeader(Part::Signature, Fault::TwoTimestamps));
            }
            Some(("t", text)) => time = Some(text.as_bytes()),
            Some((found, encoded)) if found == label => offered.push(decode(encoded)),
            Some(_) | None => {}
        }
    }
    let time = time.ok_or(Reject::BadHeader(Part::Signature, Fault::NoTimestamp))?;
    let timestamp = headers::seconds(time, Part::Signature)?;

    if mac::any_matches(keys, &[time, b".", request.body], offered.supported()?) {
        Ok(Verified {
            delivery_id: None,
            timestamp: Some(timestamp),
            account: None,
        })
    } else {
        Err(Reject::SignatureMismatch)
    }
}

/// Lower-case hex of 32 bytes. The senders compare text, so upper case is not theirs.
fn decode(encoded: &str) -> Option<[u8; 32]> {
    if encoded.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let mut decoded = [0; 32];
    hex::decode_to_slice(encoded, &mut decoded).ok()?;
    Some(decoded)
}
