//! Key sets (RFC 7517), as far as Ed25519 keys need them (RFC 8037).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::VerifyingKey;
use serde::Deserialize;
use serde_json::Value;

use super::KeyError;
use super::keys::checked_public_key;

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// Every usable key of the set; the others are skipped one by one.
pub(super) fn usable_keys(json: &str) -> Result<Vec<VerifyingKey>, KeyError> {
    let set: Set =
        serde_json::from_str(json).map_err(|error| KeyError::MalformedJwks(error.to_string()))?;
    let keys: Vec<_> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() {
        Err(KeyError::NoUsableKey)
    } else {
        Ok(keys)
    }
}

fn usable(key: &Value) -> Option<VerifyingKey> {
    let member = |name: &str| key.get(name).and_then(Value::as_str);
    // A key set aside for something else must not vouch for a signature (RFC 7517 §4.2, §4.3).
    let may_sign = member("use").is_none_or(|purpose| purpose == "sig");
    let may_verify = key
        .get("key_ops")
        .and_then(Value::as_array)
        .is_none_or(|operations| operations.iter().any(|operation| operation == "verify"));
    if member("kty")? != "OKP" || member("crv")? != "Ed25519" || !may_sign || !may_verify {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(member("x")?.trim_end_matches('='))
        .ok()?;
    checked_public_key(&bytes)
}
