//! Secrets and public keys, parsed once when a source is configured.
//!
//! The same prefix means different things to different senders: after `whsec_` comes base64 for
//! the Standard family, while for Stripe the whole text is the key. A secret that does not fit its
//! scheme is refused here with a message that says what to do, because at delivery time it would
//! only look like a wrong signature.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ed25519_dalek::VerifyingKey;

use super::mac::{self, HmacKey};
use super::{Scheme, jwks, shared_secret};

/// Shortest secret that is taken, in bytes of key (or of text, where text is the key).
pub const MIN_SECRET_BYTES: usize = 16;
/// Most keys one source may have active; bounds the work one request can cause.
const MAX_KEYS: usize = 16;

/// Secrets are pasted with and without padding, and both have only one reading.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What is wrong with a secret or a key set. Never contains the secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// Nothing, or only white space, was given.
    #[error("the secret is empty; copy it from the sender's webhook page")]
    Empty,
    /// A stray newline or space would silently become part of some keys.
    #[error("the secret has white space in or around it; copy it again without")]
    Whitespace,
    /// So short that it can be guessed, or cut off when it was copied.
    #[error(
        "the secret is only {bytes} bytes long and {MIN_SECRET_BYTES} are needed; it may have been \
         cut off when it was copied"
    )]
    TooShort {
        /// Length found.
        bytes: usize,
    },
    /// Not base64 where the scheme needs it.
    #[error(
        "the secret is not standard base64; for `{0}` give it as the sender shows it, `whsec_…` \
         followed by base64"
    )]
    NotBase64(Scheme),
    /// The whole prefixed secret was base64-encoded once more.
    #[error(
        "the secret was base64-encoded twice: decoded, it starts with `whsec_`; give that text"
    )]
    EncodedTwice,
    /// A key of another kind.
    #[error("`{0}` keys do not belong to `{1}`; {2}")]
    WrongKind(&'static str, Scheme, &'static str),
    /// Not the 32 bytes of an Ed25519 public key, or a point nobody should use.
    #[error("this is not a usable Ed25519 public key; `whpk_` is followed by 32 bytes in base64")]
    NotAPublicKey,
    /// Not an Ed25519 private key, or one whose public half does not fit.
    #[error("this is not an Ed25519 private key; `whsk_` is followed by 32 or 64 bytes in base64")]
    NotAPrivateKey,
    /// The scheme's keys are published as a set.
    #[error("`{0}` has no secret; give the sender's key set (JWKS)")]
    NeedsJwks(Scheme),
    /// The scheme has no key sets.
    #[error("`{0}` does not use a key set (JWKS); give its secret")]
    NoJwks(Scheme),
    /// A key set that cannot be read at all.
    #[error("the key set (JWKS) is not JSON of the form {{\"keys\": […]}}: {0}")]
    MalformedJwks(String),
    /// A key set without a single key for us.
    #[error("the key set (JWKS) holds no usable Ed25519 key (kty OKP, crv Ed25519, x of 32 bytes)")]
    NoUsableKey,
    /// A static header not given as one.
    #[error("give the shared header as `name: value`")]
    NotAHeader,
    /// Characters that do not survive in a URL path.
    #[error("a URL token may hold only letters, digits, `-`, `_`, `.` and `~`")]
    NotATokenText,
    /// No key at all.
    #[error("no secret or key is given")]
    NoKeys,
    /// More keys than a rotation needs.
    #[error("{0} keys are active and at most {MAX_KEYS} may be; remove the retired ones")]
    TooManyKeys(usize),
    /// Keys of different schemes, or different header names, in one source.
    #[error("the keys of one source must all be for the same scheme and header")]
    Mixed,
}

/// One secret or public key of one scheme.
#[derive(Clone)]
pub struct SecretKey {
    scheme: Scheme,
    material: One,
}

#[derive(Clone)]
enum One {
    Hmac(HmacKey),
    Ed25519(VerifyingKey),
    Header { name: String, value: [u8; 32] },
    Token([u8; 32]),
}

impl SecretKey {
    /// Reads a secret as the sender shows it.
    ///
    /// - Standard family: `whsec_…`, `v1,whsec_…` or plain base64; OpenAI without the prefix: text.
    /// - `standard-webhooks-v1a`: `whpk_…`, the public key.
    /// - Stripe, ElevenLabs: the whole text is the key, prefix included.
    /// - `static-header`: `name: value`. `url-token`: the token.
    ///
    /// # Errors
    /// What is wrong with it, without repeating it.
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, KeyError> {
        let material = match scheme {
            Scheme::StandardWebhooksV1 | Scheme::SvixV1 | Scheme::Openai | Scheme::Replicate => {
                One::Hmac(mac::key(&standard_secret(scheme, text)?))
            }
            Scheme::Stripe | Scheme::ElevenlabsV0 => One::Hmac(mac::key(text_secret(text)?)),
            Scheme::StandardWebhooksV1a => One::Ed25519(public_key(one_word(text)?)?),
            Scheme::FalEd25519 => return Err(KeyError::NeedsJwks(scheme)),
            Scheme::StaticHeader => static_header(text)?,
            Scheme::UrlToken => One::Token(url_token(text)?),
        };
        Ok(Self { scheme, material })
    }

    /// Reads every usable key of a JWKS; unusable ones are skipped one by one, because a sender
    /// may add keys of a kind we do not know to the same set.
    ///
    /// # Errors
    /// If the set cannot be read, holds no usable key, or `scheme` has no key sets.
    pub fn parse_jwks(scheme: Scheme, json: &str) -> Result<Vec<Self>, KeyError> {
        if !scheme.takes_jwks() {
            return Err(KeyError::NoJwks(scheme));
        }
        let keys = jwks::usable_keys(json)?;
        let keyed = |key| Self {
            scheme,
            material: One::Ed25519(key),
        };
        Ok(keys.into_iter().map(keyed).collect())
    }

    /// The key of an Ed25519 scheme, from where it was derived.
    pub(super) const fn ed25519(scheme: Scheme, key: VerifyingKey) -> Self {
        Self {
            scheme,
            material: One::Ed25519(key),
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretKey")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// The active keys of one source. Never empty, all of one scheme.
#[derive(Clone)]
pub struct Keys {
    scheme: Scheme,
    pub(super) material: Material,
}

#[derive(Clone)]
pub(super) enum Material {
    Hmac(Vec<HmacKey>),
    Ed25519(Vec<VerifyingKey>),
    Header { name: String, values: Vec<[u8; 32]> },
    Token(Vec<[u8; 32]>),
}

impl Keys {
    /// Puts the active keys of a source together; any of them may have made a signature.
    ///
    /// # Errors
    /// If there is none, there are too many, or they do not belong together.
    pub fn new(keys: impl IntoIterator<Item = SecretKey>) -> Result<Self, KeyError> {
        let mut keys = keys.into_iter();
        let first = keys.next().ok_or(KeyError::NoKeys)?;
        let scheme = first.scheme;
        let mut material = match first.material {
            One::Hmac(key) => Material::Hmac(vec![key]),
            One::Ed25519(key) => Material::Ed25519(vec![key]),
            One::Header { name, value } => Material::Header {
                name,
                values: vec![value],
            },
            One::Token(token) => Material::Token(vec![token]),
        };
        let mut count = 1;
        for key in keys {
            if key.scheme != scheme {
                return Err(KeyError::Mixed);
            }
            count += 1;
            match (&mut material, key.material) {
                (Material::Hmac(all), One::Hmac(key)) => all.push(key),
                (Material::Ed25519(all), One::Ed25519(key)) => all.push(key),
                (Material::Token(all), One::Token(token)) => all.push(token),
                (Material::Header { name, values }, One::Header { name: other, value })
                    if *name == other =>
                {
                    values.push(value);
                }
                _ => return Err(KeyError::Mixed),
            }
        }
        if count > MAX_KEYS {
            return Err(KeyError::TooManyKeys(count));
        }
        Ok(Self { scheme, material })
    }

    /// Parses every secret and puts them together.
    ///
    /// # Errors
    /// As [`SecretKey::parse`] and [`Keys::new`].
    pub fn parse<'t>(
        scheme: Scheme,
        secrets: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self, KeyError> {
        let parsed = secrets
            .into_iter()
            .map(|text| SecretKey::parse(scheme, text));
        Self::new(parsed.collect::<Result<Vec<_>, _>>()?)
    }

    /// The scheme all keys are for.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// The text, once it is known to be there and to hold no white space.
fn one_word(text: &str) -> Result<&str, KeyError> {
    if text.trim().is_empty() {
        return Err(KeyError::Empty);
    }
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(KeyError::Whitespace);
    }
    Ok(text)
}

fn long_enough<T: AsRef<[u8]>>(secret: T) -> Result<T, KeyError> {
    match secret.as_ref().len() {
        0 => Err(KeyError::Empty),
        bytes if bytes < MIN_SECRET_BYTES => Err(KeyError::TooShort { bytes }),
        _ => Ok(secret),
    }
}

/// The key bytes of the Standard family.
pub(super) fn standard_secret(scheme: Scheme, text: &str) -> Result<Vec<u8>, KeyError> {
    let text = one_word(text)?;
    if text.starts_with("whpk_") || text.starts_with("whsk_") {
        let advice = "give the shared secret (whsec_…), or use standard-webhooks-v1a";
        return Err(KeyError::WrongKind("whpk_/whsk_", scheme, advice));
    }
    // Supabase shows the version in front of the secret.
    let unversioned = text.strip_prefix("v1,").unwrap_or(text);
    let (encoded, prefixed) = match unversioned.strip_prefix("whsec_") {
        Some(encoded) => (encoded, true),
        None => (unversioned, false),
    };
    if scheme == Scheme::Openai && !prefixed {
        return long_enough(text.as_bytes().to_vec());
    }
    let secret = BASE64
        .decode(encoded)
        .map_err(|_| KeyError::NotBase64(scheme))?;
    if secret.starts_with(b"whsec_") {
        return Err(KeyError::EncodedTwice);
    }
    long_enough(secret)
}

/// The whole text as key; what follows the prefix must be long enough on its own.
pub(super) fn text_secret(text: &str) -> Result<&[u8], KeyError> {
    let text = one_word(text)?;
    let unprefixed = text
        .strip_prefix("whsec_")
        .or_else(|| text.strip_prefix("wsec_"));
    long_enough(unprefixed.unwrap_or(text).as_bytes())?;
    Ok(text.as_bytes())
}

fn public_key(text: &str) -> Result<VerifyingKey, KeyError> {
    let wrong = |prefix, advice| {
        Err(KeyError::WrongKind(
            prefix,
            Scheme::StandardWebhooksV1a,
            advice,
        ))
    };
    if text.starts_with("whsk_") {
        return wrong(
            "whsk_",
            "that is the sender's private key: give the public one (whpk_…)",
        );
    }
    if text.contains("whsec_") {
        return wrong(
            "whsec_",
            "give the public key (whpk_…), or use standard-webhooks-v1",
        );
    }
    let encoded = text.strip_prefix("whpk_").unwrap_or(text);
    let bytes = BASE64
        .decode(encoded)
        .map_err(|_| KeyError::NotAPublicKey)?;
    checked_public_key(&bytes).ok_or(KeyError::NotAPublicKey)
}

/// A public key that is a point of the curve and not one of the few that fit many messages.
pub(super) fn checked_public_key(bytes: &[u8]) -> Option<VerifyingKey> {
    let key = VerifyingKey::from_bytes(bytes.try_into().ok()?).ok()?;
    (!key.is_weak()).then_some(key)
}

fn static_header(text: &str) -> Result<One, KeyError> {
    let (name, value) = split_header(text)?;
    let value = shared_secret::digest(long_enough(value.as_bytes())?);
    Ok(One::Header {
        name: name.to_ascii_lowercase(),
        value,
    })
}

/// Name and value of a static header; the value may hold spaces inside (`Bearer …`).
pub(super) fn split_header(text: &str) -> Result<(&str, &str), KeyError> {
    let (name, value) = text.split_once(':').ok_or(KeyError::NotAHeader)?;
    let (name, value) = (name.trim(), value.trim_matches(' '));
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err(KeyError::NotAHeader);
    }
    if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Err(KeyError::Whitespace);
    }
    Ok((name, value))
}

fn url_token(text: &str) -> Result<[u8; 32], KeyError> {
    let text = long_enough(one_word(text)?)?;
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    if text.bytes().all(unreserved) {
        Ok(shared_secret::digest(text.as_bytes()))
    } else {
        Err(KeyError::NotATokenText)
    }
}
