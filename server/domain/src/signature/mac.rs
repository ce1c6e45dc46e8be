//! HMAC-SHA256, keyed once and compared in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq};

/// A key with its first block already hashed: using it is a copy of the state.
pub(super) type HmacKey = Hmac<Sha256>;

/// Keys an HMAC. Any length is a valid key; the minimum is enforced where secrets are parsed.
pub(super) fn key(secret: &[u8]) -> HmacKey {
    HmacKey::new_from_slice(secret).expect("HMAC takes keys of any length")
}

/// A key for work whose result nobody looks at.
pub(super) fn decoy() -> HmacKey {
    key(&[0; 32])
}

/// The MAC over the concatenation of `parts`.
pub(super) fn tag(key: &HmacKey, parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = key.clone();
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Whether any key made any of the offered tags. Every pair is compared, whatever the outcome.
pub(super) fn any_matches(keys: &[HmacKey], parts: &[&[u8]], offered: &[[u8; 32]]) -> bool {
    let mut found = Choice::from(0);
    for key in keys {
        let tag = tag(key, parts);
        for candidate in offered {
            found |= tag.ct_eq(candidate);
        }
    }
    found.into()
}
