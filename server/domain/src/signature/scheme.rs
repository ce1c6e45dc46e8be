//! The schemes we know, by name, and how old a signature of each may be.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::Reject;

/// How a sender proves who it is. The names are stable: they are stored and typed by people.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "&'static str")]
pub enum Scheme {
    /// Standard Webhooks, HMAC-SHA256. Also what our own signed job event uses.
    StandardWebhooksV1,
    /// Standard Webhooks, Ed25519.
    StandardWebhooksV1a,
    /// Svix: the Standard signature under `svix-*` or `webhook-*` headers.
    SvixV1,
    /// OpenAI: the Standard signature; a secret without `whsec_` is taken as text.
    Openai,
    /// Replicate: the Standard signature.
    Replicate,
    /// Stripe: `t=…,v1=…` in one header; the whole secret text is the key.
    Stripe,
    /// fal: Ed25519 over a digest of the body, keys published as a JWKS.
    FalEd25519,
    /// ElevenLabs: `t=…,v0=…` in one header.
    ElevenlabsV0,
    /// No signature: a header whose value both sides know.
    StaticHeader,
    /// No signature: a secret segment in the URL.
    UrlToken,
}

impl Scheme {
    /// Every scheme, in the order help texts list them.
    pub const ALL: [Self; 10] = [
        Self::StandardWebhooksV1,
        Self::StandardWebhooksV1a,
        Self::SvixV1,
        Self::Openai,
        Self::Replicate,
        Self::Stripe,
        Self::FalEd25519,
        Self::ElevenlabsV0,
        Self::StaticHeader,
        Self::UrlToken,
    ];

    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::StandardWebhooksV1 => "standard-webhooks-v1",
            Self::StandardWebhooksV1a => "standard-webhooks-v1a",
            Self::SvixV1 => "svix-v1",
            Self::Openai => "openai",
            Self::Replicate => "replicate",
            Self::Stripe => "stripe",
            Self::FalEd25519 => "fal-ed25519",
            Self::ElevenlabsV0 => "elevenlabs-v0",
            Self::StaticHeader => "static-header",
            Self::UrlToken => "url-token",
        }
    }

    /// Whether the request proves knowledge of a secret by a signature over its body. The other
    /// schemes show the secret itself, so whoever can read one request can forge the next.
    #[must_use]
    pub const fn signs_the_body(self) -> bool {
        !matches!(self, Self::StaticHeader | Self::UrlToken)
    }

    /// Whether one key of the sender signs for all of its accounts, so that a source has to name its own.
    #[must_use]
    pub const fn names_account(self) -> bool {
        matches!(self, Self::FalEd25519)
    }

    /// Whether keys may be given as a JWKS.
    #[must_use]
    pub const fn takes_jwks(self) -> bool {
        matches!(self, Self::FalEd25519 | Self::StandardWebhooksV1a)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scheme name nobody defined.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown scheme `{0}`; use one of {known}", known = Scheme::ALL.map(Scheme::name).join(", "))]
pub struct UnknownScheme(String);

impl FromStr for Scheme {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|scheme| scheme.name() == text);
        known.ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}

impl TryFrom<String> for Scheme {
    type Error = UnknownScheme;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Scheme> for &'static str {
    fn from(scheme: Scheme) -> Self {
        scheme.name()
    }
}

/// Whole seconds since 1970, the only notion of time signatures have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixSeconds(pub i64);

impl From<DateTime<Utc>> for UnixSeconds {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.timestamp())
    }
}

/// How far a signed timestamp may be from our clock. Both limits are inclusive.
///
/// It bounds how long a captured request can be replayed and how wrong our clock may be; it is
/// not what prevents double settlement, which is the event key, for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tolerance {
    /// Greatest accepted age.
    pub past_s: u32,
    /// Greatest accepted lead; `None` accepts any, as Stripe and ElevenLabs define it.
    pub future_s: Option<u32>,
}

impl Tolerance {
    /// The sender's own rule.
    #[must_use]
    pub const fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::ElevenlabsV0 => Self::seconds(scheme, 1800),
            _ => Self::seconds(scheme, 300),
        }
    }

    /// `seconds` to the past, and to the future where the scheme limits it.
    #[must_use]
    pub const fn seconds(scheme: Scheme, seconds: u32) -> Self {
        let future_s = match scheme {
            Scheme::Stripe | Scheme::ElevenlabsV0 => None,
            _ => Some(seconds),
        };
        Self {
            past_s: seconds,
            future_s,
        }
    }

    /// Refuses a timestamp outside the limits.
    pub(super) fn check(self, timestamp: UnixSeconds, now: UnixSeconds) -> Result<(), Reject> {
        let age_s = now.0.saturating_sub(timestamp.0);
        if age_s > i64::from(self.past_s) {
            return Err(Reject::TimestampTooOld { age_s });
        }
        let lead_s = age_s.saturating_neg();
        match self.future_s {
            Some(limit) if lead_s > i64::from(limit) => Err(Reject::TimestampTooNew { lead_s }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.name().parse(), Ok(scheme));
            let json = serde_json::to_string(&scheme).unwrap();
            assert_eq!(json, format!("\"{scheme}\""));
            assert_eq!(serde_json::from_str::<Scheme>(&json).unwrap(), scheme);
        }
        let error = "standard".parse::<Scheme>().unwrap_err().to_string();
        assert!(
            error.contains("`standard`") && error.contains("svix-v1"),
            "{error}"
        );
    }

    #[test]
    fn limits_are_inclusive_and_cannot_overflow() {
        let both = Tolerance::of(Scheme::Openai);
        let check = |tolerance: Tolerance, timestamp, now| {
            tolerance
                .check(UnixSeconds(timestamp), UnixSeconds(now))
                .map_err(Reject::code)
        };
        assert_eq!(check(both, 1000, 1300), Ok(()));
        assert_eq!(check(both, 1000, 1301), Err("timestamp_too_old"));
        assert_eq!(check(both, 1300, 1000), Ok(()));
        assert_eq!(check(both, 1301, 1000), Err("timestamp_too_new"));
        assert_eq!(check(both, i64::MAX, i64::MIN), Err("timestamp_too_new"));
        assert_eq!(check(both, i64::MIN, i64::MAX), Err("timestamp_too_old"));

        let stripe = Tolerance::of(Scheme::Stripe);
        assert_eq!(check(stripe, i64::MAX, 0), Ok(()));
        assert_eq!(check(stripe, 0, 301), Err("timestamp_too_old"));
        assert_eq!(check(Tolerance::of(Scheme::ElevenlabsV0), 0, 1800), Ok(()));
        assert_eq!(
            check(Tolerance::of(Scheme::ElevenlabsV0), 0, 1801),
            Err("timestamp_too_old")
        );
        assert_eq!(
            check(Tolerance::seconds(Scheme::Replicate, 0), 5, 5),
            Ok(())
        );
    }
}
