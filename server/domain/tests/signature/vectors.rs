//! Requests signed by the senders' own packages: each gets the recorded verdict, for the recorded
//! reason. The file is shared with others who check signatures; nothing in it is made by our code.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::signature::{
    Keys, Message, Request, Scheme, SecretKey, SigningKey, Tolerance, UnixSeconds, inspect, sign,
    verify,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    id: String,
    scheme: String,
    secret: Option<String>,
    #[serde(default)]
    secrets: Vec<String>,
    jwks: Option<Value>,
    headers: Vec<(String, String)>,
    body_base64: String,
    now_unix: i64,
    expect: String,
    reason: Option<String>,
    signature_ok: Option<bool>,
}

impl Vector {
    fn keys(&self) -> Keys {
        let scheme: Scheme = self
            .scheme
            .parse()
            .unwrap_or_else(|e| panic!("{}: {e}", self.id));
        let texts = self.secret.iter().chain(&self.secrets);
        let mut keys: Vec<_> = texts
            .map(|text| SecretKey::parse(scheme, text).unwrap())
            .collect();
        if let Some(jwks) = &self.jwks {
            keys.extend(SecretKey::parse_jwks(scheme, &jwks.to_string()).unwrap());
        }
        Keys::new(keys).unwrap_or_else(|e| panic!("{}: {e}", self.id))
    }

    /// Runs `check` on the request this vector describes.
    fn with_request<T>(&self, check: impl FnOnce(&Request<'_>) -> T) -> T {
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let body = STANDARD.decode(&self.body_base64).unwrap();
        check(&Request {
            headers: &headers,
            body: &body,
            token: None,
        })
    }
}

fn vectors() -> Vec<Vector> {
    let file: File = serde_json::from_str(include_str!("../vectors/signatures.json")).unwrap();
    assert!(
        !file.vectors.is_empty(),
        "no vectors: the file or its format changed"
    );
    file.vectors
}

#[test]
fn every_vector_gets_its_verdict_and_its_reason() {
    for vector in vectors() {
        let keys = vector.keys();
        let tolerance = Tolerance::of(keys.scheme());
        let verdict = vector.with_request(|request| {
            match inspect(&keys, request, UnixSeconds(vector.now_unix), tolerance) {
                Ok(_) => ("accept", None),
                Err(reject) => ("reject", Some(reject.code())),
            }
        });
        assert_eq!(
            verdict,
            (vector.expect.as_str(), vector.reason.as_deref()),
            "{}",
            vector.id
        );
    }
}

/// With freshness and body set aside, the signature alone is right exactly where the file says so.
#[test]
fn the_signature_alone_is_as_recorded() {
    let any_time = Tolerance {
        past_s: u32::MAX,
        future_s: None,
    };
    for vector in vectors() {
        let Some(expected) = vector.signature_ok else {
            continue;
        };
        let keys = vector.keys();
        let now = UnixSeconds(vector.now_unix);
        let right = vector.with_request(|request| verify(&keys, request, now, any_time).is_ok());
        assert_eq!(right, expected, "{}", vector.id);
    }
}

/// Rotation in both directions: the recorded secret among others, first and last.
#[test]
fn a_vector_is_accepted_among_other_active_secrets() {
    for vector in vectors()
        .into_iter()
        .filter(|vector| vector.expect == "accept")
    {
        let Some(secret) = &vector.secret else {
            continue;
        };
        let scheme: Scheme = vector.scheme.parse().unwrap();
        let other = match scheme {
            Scheme::StandardWebhooksV1a => "whpk_C3eIIgtpD3f3FZMScxLCssvt8xGcxDOy+slSLImpLB4=",
            _ => "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        };
        for order in [[secret.as_str(), other], [other, secret.as_str()]] {
            let keys = Keys::parse(scheme, order).unwrap();
            let now = UnixSeconds(vector.now_unix);
            vector.with_request(|request| {
                let verdict = verify(&keys, request, now, Tolerance::of(scheme));
                assert!(verdict.is_ok(), "{}: {verdict:?}", vector.id);
            });
        }
    }
}

/// Our signer makes the very signature the senders' packages made, for one signature and one key.
#[test]
fn our_signer_agrees_with_the_senders_own() {
    let mut compared = 0;
    for vector in vectors()
        .into_iter()
        .filter(|vector| vector.signature_ok == Some(true))
    {
        let scheme: Scheme = vector.scheme.parse().unwrap();
        let Some(secret) = vector.secret.as_ref().filter(|_| !scheme.takes_jwks()) else {
            continue;
        };
        let header = |suffix: &str| {
            let mut named = vector
                .headers
                .iter()
                .filter(|(name, _)| name.to_ascii_lowercase().ends_with(suffix));
            named.next().map_or("", |(_, value)| value.as_str())
        };
        let signature = header("-signature");
        let time = match signature.strip_prefix("t=") {
            Some(rest) if signature.matches(',').count() == 1 => rest.split_once(',').unwrap().0,
            None if !signature.contains(' ') => header("-timestamp"),
            _ => continue,
        };
        let message_time = UnixSeconds(time.parse().unwrap());
        let key = SigningKey::parse(scheme, secret).unwrap();
        let body = STANDARD.decode(&vector.body_base64).unwrap();
        let message = Message {
            id: header("-id"),
            account: "",
            body: &body,
            timestamp: message_time,
        };
        let made = sign(&key, &message);
        assert_eq!(made.last().unwrap().1, signature, "{}", vector.id);
        compared += 1;
    }
    assert!(compared >= 15, "only {compared} vectors could be compared");
}
