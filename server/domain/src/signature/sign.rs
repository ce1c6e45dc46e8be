//! The sender's side: what our simulated provider and the tests sign with.
//!
//! Written against the same tables as the verifier but sharing no code with its parsers, so a
//! round trip through both says something about each.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::Signer as _;

use super::mac::{self, HmacKey};
use super::{KeyError, Scheme, SecretKey, UnixSeconds, fal, keys};

/// What is being sent.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    /// The delivery id; stays the same on a retry. Schemes without one ignore it.
    pub id: &'m str,
    /// When this attempt is made.
    pub timestamp: UnixSeconds,
    /// The sender's account; only fal sends it.
    pub account: &'m str,
    /// The body, exactly as it will be sent.
    pub body: &'m [u8],
}

/// A key that can make signatures.
pub struct SigningKey {
    scheme: Scheme,
    material: Material,
}

enum Material {
    Hmac(HmacKey),
    Ed25519(ed25519_dalek::SigningKey),
    Header { name: String, value: String },
    Token,
}

impl SigningKey {
    /// Reads the secret as the receiver would, or for the Ed25519 schemes the private key
    /// `whsk_…` (base64 of the 32-byte seed, or of seed and public key).
    ///
    /// # Errors
    /// As [`SecretKey::parse`].
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, KeyError> {
        let material = match scheme {
            Scheme::StandardWebhooksV1 | Scheme::SvixV1 | Scheme::Openai | Scheme::Replicate => {
                Material::Hmac(mac::key(&keys::standard_secret(scheme, text)?))
            }
            Scheme::Stripe | Scheme::ElevenlabsV0 => {
                Material::Hmac(mac::key(keys::text_secret(text)?))
            }
            Scheme::StandardWebhooksV1a | Scheme::FalEd25519 => {
                Material::Ed25519(private_key(text)?)
            }
            Scheme::StaticHeader => {
                SecretKey::parse(scheme, text)?;
                let (name, value) = keys::split_header(text)?;
                Material::Header {
                    name: name.to_owned(),
                    value: value.to_owned(),
                }
            }
            Scheme::UrlToken => {
                SecretKey::parse(scheme, text)?;
                Material::Token
            }
        };
        Ok(Self { scheme, material })
    }

    /// The Ed25519 key made of this seed.
    ///
    /// # Errors
    /// If `scheme` has no Ed25519 keys.
    pub fn from_seed(scheme: Scheme, seed: &[u8; 32]) -> Result<Self, KeyError> {
        if !scheme.takes_jwks() {
            return Err(KeyError::NoJwks(scheme));
        }
        let material = Material::Ed25519(ed25519_dalek::SigningKey::from_bytes(seed));
        Ok(Self { scheme, material })
    }

    /// The receiver's half of an Ed25519 key; `None` where both sides share one secret.
    #[must_use]
    pub fn public(&self) -> Option<SecretKey> {
        match &self.material {
            Material::Ed25519(key) => Some(SecretKey::ed25519(self.scheme, key.verifying_key())),
            _ => None,
        }
    }

    /// The receiver's half as text for a configuration file (`whpk_…`).
    #[must_use]
    pub fn public_text(&self) -> Option<String> {
        match &self.material {
            Material::Ed25519(key) => Some(format!(
                "whpk_{}",
                STANDARD.encode(key.verifying_key().as_bytes())
            )),
            _ => None,
        }
    }

    /// The receiver's half as the key set a sender publishes.
    #[must_use]
    pub fn public_jwks(&self) -> Option<String> {
        match &self.material {
            Material::Ed25519(key) => {
                let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
                let key =
                    serde_json::json!({ "kty": "OKP", "crv": "Ed25519", "use": "sig", "x": x });
                Some(serde_json::json!({ "keys": [key] }).to_string())
            }
            _ => None,
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}

/// The headers that go with `message`. Empty for [`Scheme::UrlToken`], whose proof is the URL.
#[must_use]
pub fn sign(key: &SigningKey, message: &Message<'_>) -> Vec<(String, String)> {
    let time = message.timestamp.0.to_string();
    let signed_at = time.as_bytes();
    match (&key.material, key.scheme) {
        (Material::Hmac(secret), scheme @ (Scheme::Stripe | Scheme::ElevenlabsV0)) => {
            let (name, label) = match scheme {
                Scheme::Stripe => ("Stripe-Signature", "v1"),
                _ => ("ElevenLabs-Signature", "v0"),
            };
            let signature = hex::encode(mac::tag(secret, &[signed_at, b".", message.body]));
            headers([(name, format!("t={time},{label}={signature}"))])
        }
        (Material::Hmac(secret), scheme) => {
            let parts = [message.id.as_bytes(), b".", signed_at, b".", message.body];
            let signature = format!("v1,{}", STANDARD.encode(mac::tag(secret, &parts)));
            standard_headers(scheme, message.id, time, signature)
        }
        (Material::Ed25519(secret), Scheme::FalEd25519) => {
            let signed = fal::message(message.id, message.account, signed_at, message.body);
            let signature = hex::encode(secret.sign(&signed).to_bytes());
            headers([
                ("X-Fal-Webhook-Request-Id", message.id.to_owned()),
                ("X-Fal-Webhook-User-Id", message.account.to_owned()),
                ("X-Fal-Webhook-Timestamp", time),
                ("X-Fal-Webhook-Signature", signature),
            ])
        }
        (Material::Ed25519(secret), scheme) => {
            let signed = [message.id.as_bytes(), signed_at, message.body].join(&b'.');
            let signature = format!("v1a,{}", STANDARD.encode(secret.sign(&signed).to_bytes()));
            standard_headers(scheme, message.id, time, signature)
        }
        (Material::Header { name, value }, _) => headers([(name.as_str(), value.clone())]),
        (Material::Token, _) => Vec::new(),
    }
}

fn standard_headers(
    scheme: Scheme,
    id: &str,
    time: String,
    signature: String,
) -> Vec<(String, String)> {
    let prefix = if scheme == Scheme::SvixV1 {
        "svix"
    } else {
        "webhook"
    };
    vec![
        (format!("{prefix}-id"), id.to_owned()),
        (format!("{prefix}-timestamp"), time),
        (format!("{prefix}-signature"), signature),
    ]
}

fn headers<const N: usize>(pairs: [(&str, String); N]) -> Vec<(String, String)> {
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn private_key(text: &str) -> Result<ed25519_dalek::SigningKey, KeyError> {
    let encoded = text.strip_prefix("whsk_").unwrap_or(text);
    let bytes = STANDARD
        .decode(encoded)
        .map_err(|_| KeyError::NotAPrivateKey)?;
    if let Ok(pair) = <&[u8; 64]>::try_from(bytes.as_slice()) {
        return ed25519_dalek::SigningKey::from_keypair_bytes(pair)
            .map_err(|_| KeyError::NotAPrivateKey);
    }
    let seed = bytes
        .as_slice()
        .try_into()
        .map_err(|_| KeyError::NotAPrivateKey)?;
    Ok(ed25519_dalek::SigningKey::from_bytes(seed))
}
