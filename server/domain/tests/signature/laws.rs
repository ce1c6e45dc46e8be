//! What holds for every message and key, not only for the recorded ones.

use domain::signature::{
    Keys, Message, Reject, Request, Scheme, SecretKey, SigningKey, Tolerance, UnixSeconds, inspect,
    sign, verify,
};
use proptest::prelude::*;

const NOW: UnixSeconds = UnixSeconds(1_790_000_000);

/// The schemes that cover the body, each with a key made of `seed`.
const SIGNED: [Scheme; 8] = [
    Scheme::StandardWebhooksV1,
    Scheme::StandardWebhooksV1a,
    Scheme::SvixV1,
    Scheme::Openai,
    Scheme::Replicate,
    Scheme::Stripe,
    Scheme::FalEd25519,
    Scheme::ElevenlabsV0,
];

/// A sender and the receiver's half of its key.
fn sender(scheme: Scheme, seed: u8) -> (SigningKey, SecretKey) {
    if scheme.takes_jwks() {
        let key = SigningKey::from_seed(scheme, &[seed; 32]).unwrap();
        let public = key.public().unwrap();
        return (key, public);
    }
    let text = match scheme {
        Scheme::StaticHeader => format!("X-Hook-Secret: Bearer {seed:032}"),
        Scheme::UrlToken => format!("{seed:032}"),
        _ => format!("whsec_{seed:032}"),
    };
    (
        SigningKey::parse(scheme, &text).unwrap(),
        SecretKey::parse(scheme, &text).unwrap(),
    )
}

fn check(keys: &Keys, headers: &[(String, String)], body: &[u8]) -> Result<(), Reject> {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let request = Request {
        headers: &headers,
        body,
        token: None,
    };
    verify(keys, &request, NOW, Tolerance::of(keys.scheme())).map(drop)
}

prop_compose! {
    fn message()(
        id in "[a-z0-9_]{1,20}",
        account in "[a-z|0-9]{1,12}",
        body in proptest::collection::vec(any::<u8>(), 1..200),
        age in 0i64..=300,
    ) -> (String, String, Vec<u8>, i64) {
        (id, account, body, NOW.0 - age)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any active secret may have signed, wherever it stands; one that is not active may not.
    #[test]
    fn any_active_key_verifies_and_no_other(
        (id, account, body, time) in message(),
        active in 1u8..6,
        signer in 0u8..8,
    ) {
        for scheme in SIGNED.into_iter().chain([Scheme::StaticHeader]) {
            let keys = Keys::new((0..active).map(|seed| sender(scheme, seed).1)).unwrap();
            let message = Message {
                id: &id, account: &account, body: &body, timestamp: UnixSeconds(time),
            };
            let headers = sign(&sender(scheme, signer).0, &message);
            let verdict = check(&keys, &headers, &body);
            prop_assert_eq!(verdict.is_ok(), signer < active, "{} {:?}", scheme, verdict);
        }
    }

    /// Not one bit of what was signed can change: body, id, account or time.
    #[test]
    fn any_change_to_what_was_signed_is_refused(
        (id, account, mut body, time) in message(),
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        for scheme in SIGNED {
            let (signer, key) = sender(scheme, 1);
            let keys = Keys::new([key]).unwrap();
            let message = Message {
                id: &id, account: &account, body: &body, timestamp: UnixSeconds(time),
            };
            let headers = sign(&signer, &message);
            prop_assert_eq!(check(&keys, &headers, &body), Ok(()));

            let position = at.index(body.len());
            body[position] ^= 1 << bit;
            prop_assert_eq!(check(&keys, &headers, &body), Err(Reject::SignatureMismatch));
            body[position] ^= 1 << bit;

            // Every byte of every header is covered, or is the signature itself. Case apart: fal's
            // hex may be written either way.
            for header in 0..headers.len() {
                let mut changed = headers.clone();
                let value = &mut changed[header].1;
                let position = at.index(value.len());
                let byte = value.as_bytes()[position];
                let other = if byte == b'2' { "3" } else { "2" };
                value.replace_range(position..=position, other);
                let verdict = check(&keys, &changed, &body);
                prop_assert!(verdict.is_err(), "{} {:?}", scheme, changed);
            }
        }
    }

    /// Whatever arrives is answered: no header and no body makes the verifier panic.
    #[test]
    fn nothing_panics(
        values in proptest::collection::vec(
            prop_oneof![
                "[ -~]{0,80}".prop_map(String::into_bytes),
                "(v1|v1a|v0|t)?[,=]?[A-Za-z0-9+/=,. ]{0,120}".prop_map(String::into_bytes),
                proptest::collection::vec(any::<u8>(), 0..80),
            ],
            12,
        ),
        body in proptest::collection::vec(any::<u8>(), 0..64),
        now in any::<i64>(),
        token in proptest::option::of(".{0,40}"),
    ) {
        const NAMES: [&str; 12] = [
            "webhook-id", "webhook-timestamp", "webhook-signature", "svix-id", "svix-signature",
            "stripe-signature", "elevenlabs-signature", "x-fal-webhook-request-id",
            "x-fal-webhook-user-id", "x-fal-webhook-timestamp", "x-fal-webhook-signature",
            "x-hook-secret",
        ];
        let headers: Vec<_> =
            NAMES.into_iter().zip(values.iter().map(Vec::as_slice)).collect();
        let request = Request { headers: &headers, body: &body, token: token.as_deref() };
        for scheme in Scheme::ALL {
            let keys = Keys::new([sender(scheme, 1).1]).unwrap();
            let verdict = inspect(&keys, &request, UnixSeconds(now), Tolerance::of(scheme));
            prop_assert!(verdict.is_err());
        }
    }
}

/// A request signed for one scheme is not accepted as another, except within the Standard family,
/// which is one scheme under several names.
#[test]
fn a_signature_belongs_to_its_scheme() {
    let family = [
        Scheme::StandardWebhooksV1,
        Scheme::SvixV1,
        Scheme::Openai,
        Scheme::Replicate,
    ];
    for signed_as in SIGNED {
        let message = Message {
            id: "msg_1",
            account: "a",
            body: b"{}",
            timestamp: NOW,
        };
        let headers = sign(&sender(signed_as, 1).0, &message);
        for read_as in SIGNED {
            let keys = Keys::new([sender(read_as, 1).1]).unwrap();
            let verdict = check(&keys, &headers, b"{}");
            let related = family.contains(&signed_as) && family.contains(&read_as);
            assert!(
                verdict.is_ok() == (signed_as == read_as) || related,
                "{signed_as} read as {read_as}: {verdict:?}"
            );
        }
    }
}

/// Every character of a signature counts, the last as much as the first.
#[test]
fn no_character_of_a_signature_can_change() {
    for scheme in SIGNED {
        let (signer, key) = sender(scheme, 1);
        let keys = Keys::new([key]).unwrap();
        let message = Message {
            id: "msg_1",
            account: "a",
            body: b"{}",
            timestamp: NOW,
        };
        let mut headers = sign(&signer, &message);
        let last = headers.len() - 1;
        let right = headers[last].1.clone();
        for position in 0..right.len() {
            let other = if right.as_bytes()[position] == b'2' {
                "3"
            } else {
                "2"
            };
            headers[last].1.replace_range(position..=position, other);
            assert!(
                check(&keys, &headers, b"{}").is_err(),
                "{scheme} {}",
                headers[last].1
            );
            headers[last].1.clone_from(&right);
        }
        assert_eq!(check(&keys, &headers, b"{}"), Ok(()), "{scheme}");
    }
}
