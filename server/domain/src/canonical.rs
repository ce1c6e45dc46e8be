//! Canonical bytes and hashes: the same content always hashes the same, however it was written.
//!
//! The form is RFC 8785 (JSON Canonicalization Scheme). Values that matter are strings by then —
//! amounts, quantities and times are never JSON numbers here — so nothing depends on how a float prints.

use std::{borrow::Cow, fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// Hash of bytes as they are.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Hash of the RFC 8785 form of a value.
    ///
    /// # Errors
    /// When the value has no JSON form (a map with keys that are not strings).
    pub fn of<T: Serialize>(value: &T) -> Result<Self, CanonicalError> {
        bytes(value).map(|bytes| Self::of_bytes(&bytes))
    }
}

/// The RFC 8785 form of a value.
///
/// # Errors
/// As [`Hash::of`].
pub fn bytes<T: Serialize>(value: &T) -> Result<Vec<u8>, CanonicalError> {
    serde_json_canonicalizer::to_vec(value).map_err(|_| CanonicalError)
}

/// A value without a JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the value has no canonical JSON form")]
pub struct CanonicalError;

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A text that is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash is written in 64 hexadecimal digits")]
pub struct HashError;

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| HashError)?;
        Ok(Self(hash))
    }
}

impl Serialize for Hash {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl TryFrom<Vec<u8>> for Hash {
    type Error = Vec<u8>;

    fn try_from(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        bytes.try_into().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_and_escapes_do_not_matter() {
        let a: serde_json::Value = serde_json::from_str(r#"{"b":"\u00e9","a":"1"}"#).unwrap();
        assert_eq!(Hash::of(&a), Hash::of(&json!({"a": "1", "b": "é"})));
        assert_ne!(Hash::of(&a), Hash::of(&json!({"a": "1", "b": "e"})));
    }

    #[test]
    fn a_hash_reads_back_and_nothing_else_does() {
        let hash = Hash::of_bytes(b"a");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        assert_eq!("00".parse::<Hash>(), Err(HashError));
        assert_eq!("x".repeat(64).parse::<Hash>(), Err(HashError));
    }

    #[test]
    fn the_digest_is_plain_sha_256_of_the_canonical_text() {
        assert_eq!(
            Hash::of(&json!({"b": "2", "a": "1"})).unwrap(),
            Hash::of_bytes(br#"{"a":"1","b":"2"}"#)
        );
    }
}
