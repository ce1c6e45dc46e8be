//! Secrets as people paste them: taken in every form senders show, refused with a reason otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use domain::signature::{
    KeyError, Keys, Message, Request, Scheme, SecretKey, SigningKey, Tolerance, UnixSeconds, sign,
    verify,
};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TIME: UnixSeconds = UnixSeconds(1_790_000_000);

fn parse(scheme: Scheme, text: &str) -> Result<(), KeyError> {
    SecretKey::parse(scheme, text).map(drop)
}

/// Whether a request signed with `signer` is accepted with `receiver`.
fn fit(scheme: Scheme, signer: &str, receiver: &str) -> bool {
    let signer = SigningKey::parse(scheme, signer).unwrap();
    let headers = sign(
        &signer,
        &Message {
            id: "m",
            account: "a",
            body: b"{}",
            timestamp: TIME,
        },
    );
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let request = Request {
        headers: &headers,
        body: b"{}",
        token: None,
    };
    let keys = Keys::parse(scheme, [receiver]).unwrap();
    verify(&keys, &request, TIME, Tolerance::of(scheme)).is_ok()
}

#[test]
fn the_standard_family_takes_every_form_in_the_wild_as_the_same_key() {
    let forms = [
        format!("whsec_{KEY}"),
        format!("v1,whsec_{KEY}"),
        KEY.to_owned(),
        format!("whsec_{}", KEY.trim_end_matches('=')),
    ];
    for scheme in [
        Scheme::StandardWebhooksV1,
        Scheme::SvixV1,
        Scheme::Replicate,
    ] {
        for form in &forms {
            assert!(fit(scheme, &forms[0], form), "{scheme} {form}");
        }
    }
}

/// OpenAI's own libraries decode only what follows `whsec_`, and take other text as it is.
#[test]
fn openai_takes_a_secret_without_prefix_as_text() {
    let prefixed = format!("whsec_{KEY}");
    assert!(fit(Scheme::Openai, &prefixed, &prefixed));
    assert!(fit(Scheme::Openai, KEY, KEY));
    assert!(!fit(Scheme::Openai, &prefixed, KEY));
}

#[test]
fn for_stripe_and_elevenlabs_the_whole_text_is_the_key() {
    for scheme in [Scheme::Stripe, Scheme::ElevenlabsV0] {
        let prefixed = format!("whsec_{KEY}");
        assert!(fit(scheme, &prefixed, &prefixed));
        assert!(!fit(scheme, &prefixed, KEY));
    }
}

#[test]
fn short_and_empty_secrets_are_refused() {
    let fifteen = "MTIzNDU2Nzg5MDEyMzQ1";
    let sixteen = "MTIzNDU2Nzg5MDEyMzQ1Ng==";
    for scheme in [
        Scheme::StandardWebhooksV1,
        Scheme::SvixV1,
        Scheme::Replicate,
        Scheme::Openai,
    ] {
        let secret = |key: &str| parse(scheme, &format!("whsec_{key}"));
        assert_eq!(secret(""), Err(KeyError::Empty));
        assert_eq!(secret(fifteen), Err(KeyError::TooShort { bytes: 15 }));
        assert_eq!(secret(sixteen), Ok(()));
    }
    for scheme in [Scheme::Stripe, Scheme::ElevenlabsV0] {
        // The prefix is known to everybody and does not count.
        assert_eq!(
            parse(scheme, "whsec_123456789012345"),
            Err(KeyError::TooShort { bytes: 15 })
        );
        assert_eq!(parse(scheme, "wsec_"), Err(KeyError::Empty));
        assert_eq!(parse(scheme, "whsec_1234567890123456"), Ok(()));
    }
    assert_eq!(
        parse(Scheme::Openai, "123456789012345"),
        Err(KeyError::TooShort { bytes: 15 })
    );
    assert_eq!(
        parse(Scheme::UrlToken, "123456789012345"),
        Err(KeyError::TooShort { bytes: 15 })
    );
    assert_eq!(
        parse(Scheme::StaticHeader, "x: 123456789012345"),
        Err(KeyError::TooShort { bytes: 15 })
    );
    assert_eq!(
        parse(Scheme::StaticHeader, "x-hook: "),
        Err(KeyError::Empty)
    );
}

#[test]
fn white_space_is_refused_and_not_trimmed() {
    for scheme in Scheme::ALL {
        if matches!(scheme, Scheme::FalEd25519 | Scheme::StaticHeader) {
            continue;
        }
        assert_eq!(parse(scheme, ""), Err(KeyError::Empty), "{scheme}");
        assert_eq!(parse(scheme, " \n\t "), Err(KeyError::Empty), "{scheme}");
        for text in [
            format!("whsec_{KEY}\n"),
            format!(" whsec_{KEY}"),
            format!("whsec_ {KEY}"),
        ] {
            assert_eq!(parse(scheme, &text), Err(KeyError::Whitespace), "{scheme}");
        }
    }
}

#[test]
fn a_key_of_another_kind_is_recognised() {
    let standard = Scheme::StandardWebhooksV1;
    for text in ["whpk_AAAA", "whsk_AAAA"] {
        assert!(matches!(
            parse(standard, text),
            Err(KeyError::WrongKind(..))
        ));
    }
    assert_eq!(
        parse(standard, "whsec_a-b_"),
        Err(KeyError::NotBase64(standard))
    );
    assert_eq!(
        parse(standard, "whsec_AAAA=AAA"),
        Err(KeyError::NotBase64(standard))
    );
    // `whsec_` and a key, encoded once more as a whole.
    let twice = "d2hzZWNfQUFFQ0F3UUZCZ2NJQ1FvTERBME9EeEFSRWhNVUZSWVhHQmthR3h3ZEhoOD0=";
    assert_eq!(parse(standard, twice), Err(KeyError::EncodedTwice));
    let v1a = Scheme::StandardWebhooksV1a;
    assert!(matches!(
        parse(v1a, &format!("whsk_{KEY}")),
        Err(KeyError::WrongKind(..))
    ));
    assert!(matches!(
        parse(v1a, &format!("v1,whsec_{KEY}")),
        Err(KeyError::WrongKind(..))
    ));
    assert_eq!(
        parse(Scheme::FalEd25519, KEY),
        Err(KeyError::NeedsJwks(Scheme::FalEd25519))
    );
}

/// A low-order point verifies one signature for many messages.
#[test]
fn only_sound_public_keys_are_taken() {
    let v1a = Scheme::StandardWebhooksV1a;
    let good = SigningKey::from_seed(v1a, &[7; 32])
        .unwrap()
        .public_text()
        .unwrap();
    assert_eq!(parse(v1a, &good), Ok(()));
    assert_eq!(parse(v1a, good.trim_start_matches("whpk_")), Ok(()));
    let identity = "whpk_AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for text in [
        identity,
        "whpk_AAAA",
        "whpk_",
        "whpk_!",
        &format!("{good}AAAA"),
    ] {
        assert_eq!(parse(v1a, text), Err(KeyError::NotAPublicKey), "{text}");
    }
}

#[test]
fn a_private_key_is_read_as_seed_or_as_pair() {
    let v1a = Scheme::StandardWebhooksV1a;
    let public = |text: &str| SigningKey::parse(v1a, text).map(|key| key.public_text().unwrap());
    let from_seed = public(&format!("whsk_{KEY}")).unwrap();
    assert!(fit(v1a, &format!("whsk_{KEY}"), &from_seed));
    // The pair is the seed and the public key made of it; any other public key does not belong.
    let decode = |text: &str| STANDARD.decode(text).unwrap();
    let mut pair = [decode(KEY), decode(from_seed.trim_start_matches("whpk_"))].concat();
    assert_eq!(
        public(&format!("whsk_{}", STANDARD.encode(&pair))),
        Ok(from_seed)
    );
    pair[0] ^= 1;
    let other = public(&format!("whsk_{}", STANDARD.encode(&pair)));
    assert_eq!(other, Err(KeyError::NotAPrivateKey));
    assert_eq!(public("whsk_AAAA"), Err(KeyError::NotAPrivateKey));
    assert_eq!(public("whsk_!"), Err(KeyError::NotAPrivateKey));
}

#[test]
fn shared_headers_and_tokens_must_survive_the_way_they_travel() {
    let header = |text: &str| parse(Scheme::StaticHeader, text);
    assert_eq!(header("Authorization: Bearer 0123456789"), Ok(()));
    assert_eq!(header("x-hook:0123456789abcdef"), Ok(()));
    for text in [
        "0123456789abcdef",
        ": 0123456789abcdef",
        "a b: 0123456789abcdef",
    ] {
        assert_eq!(header(text), Err(KeyError::NotAHeader), "{text}");
    }
    assert_eq!(header("x: 0123456789abcdef\n"), Err(KeyError::Whitespace));
    for text in [
        "0123456789/abcdef",
        "0123456789%abcdef",
        "0123456789éabcdef",
    ] {
        assert_eq!(
            parse(Scheme::UrlToken, text),
            Err(KeyError::NotATokenText),
            "{text}"
        );
    }
}

#[test]
fn a_key_set_gives_its_usable_keys_and_skips_the_rest() {
    let fal = Scheme::FalEd25519;
    let read = |json: &str| SecretKey::parse_jwks(fal, json).map(|keys| keys.len());
    let x = "C3eIIgtpD3f3FZMScxLCssvt8xGcxDOy-slSLImpLB4";
    let good = format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
    let set = |keys: &[&str]| format!(r#"{{"keys":[{}],"more":1}}"#, keys.join(","));
    assert_eq!(read(&set(&[&good])), Ok(1));
    let unusable = [
        "7".to_owned(),
        "{}".to_owned(),
        r#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#.to_owned(),
        good.replace("OKP", "EC"),
        good.replace("Ed25519", "X25519"),
        good.replace(r#""kty""#, r#""use":"enc","kty""#),
        good.replace(r#""kty""#, r#""key_ops":["sign"],"kty""#),
        good.replace(x, "tooshort"),
        good.replace(x, "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        good.replace(&format!("\"{x}\""), "7"),
    ];
    for key in &unusable {
        assert_eq!(read(&set(&[key])), Err(KeyError::NoUsableKey), "{key}");
        assert_eq!(read(&set(&[key, &good])), Ok(1), "{key}");
    }
    let marked = good.replace(r#""kty""#, r#""use":"sig","key_ops":["verify"],"kty""#);
    assert_eq!(read(&set(&[&marked, &good])), Ok(2));
    assert_eq!(read(&set(&[])), Err(KeyError::NoUsableKey));
    for json in ["", "[]", "{}", r#"{"keys":{}}"#, "null"] {
        assert!(
            matches!(read(json), Err(KeyError::MalformedJwks(_))),
            "{json}"
        );
    }
    let hmac = SecretKey::parse_jwks(Scheme::Stripe, &set(&[&good])).map(drop);
    assert_eq!(hmac, Err(KeyError::NoJwks(Scheme::Stripe)));
}

/// What a sender publishes is what a receiver can read.
#[test]
fn our_own_key_set_reads_back() {
    let key = SigningKey::from_seed(Scheme::FalEd25519, &[3; 32]).unwrap();
    let keys = SecretKey::parse_jwks(Scheme::FalEd25519, &key.public_jwks().unwrap()).unwrap();
    assert_eq!(keys.len(), 1);
    assert!(SigningKey::from_seed(Scheme::Stripe, &[3; 32]).is_err());
}

#[test]
fn the_keys_of_a_source_belong_together() {
    let key = |scheme, text: &str| SecretKey::parse(scheme, text).unwrap();
    let standard = || key(Scheme::StandardWebhooksV1, KEY);
    let none = Keys::new([]).map(drop);
    assert_eq!(none, Err(KeyError::NoKeys));
    let mixed = Keys::new([standard(), key(Scheme::Replicate, KEY)]).map(drop);
    assert_eq!(mixed, Err(KeyError::Mixed));
    let header = |name: &str| key(Scheme::StaticHeader, &format!("{name}: 0123456789abcdef"));
    assert_eq!(Keys::new([header("x-a"), header("X-A")]).map(drop), Ok(()));
    assert_eq!(
        Keys::new([header("x-a"), header("x-b")]).map(drop),
        Err(KeyError::Mixed)
    );
    let many = |count| Keys::new(std::iter::repeat_n(standard(), count)).map(drop);
    assert_eq!(many(16), Ok(()));
    assert_eq!(many(17), Err(KeyError::TooManyKeys(17)));
}

/// Whatever is printed of keys and requests, it is not what proves who someone is.
#[test]
fn debug_output_holds_no_secret() {
    let secret = format!("whsec_{KEY}");
    let scheme = Scheme::StandardWebhooksV1;
    let request = Request {
        headers: &[("x-hook", b"0123456789abcdef")],
        body: b"private",
        token: Some("fedcba9876543210"),
    };
    let printed = format!(
        "{:?} {:?} {:?} {request:?}",
        SecretKey::parse(scheme, &secret).unwrap(),
        Keys::parse(scheme, [secret.as_str()]).unwrap(),
        SigningKey::parse(Scheme::StaticHeader, "x-hook: 0123456789abcdef").unwrap(),
    );
    let bytes = format!("{:?}", b"0123456789abcdef");
    for hidden in [
        KEY,
        "0123456789abcdef",
        "fedcba",
        "private",
        bytes.trim_matches(['[', ']']),
    ] {
        assert!(!printed.contains(hidden), "{printed}");
    }
}
