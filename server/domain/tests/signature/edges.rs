//! The odd requests senders, proxies and attackers make, one by one.

use domain::signature::{
    Fault, Keys, Message, Part, Reject, Request, Scheme, SigningKey, Tolerance, UnixSeconds,
    inspect, sign,
};

const NOW: UnixSeconds = UnixSeconds(1_790_000_000);
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const BODY: &[u8] = br#"{"type":"job.completed"}"#;

type Headers = Vec<(String, String)>;

/// A correctly signed request to bend.
fn signed(scheme: Scheme, id: &str, body: &[u8]) -> Headers {
    let key = SigningKey::parse(scheme, SECRET).unwrap();
    sign(
        &key,
        &Message {
            id,
            account: "",
            body,
            timestamp: NOW,
        },
    )
}

fn check(scheme: Scheme, headers: &Headers, body: &[u8]) -> Result<Option<String>, Reject> {
    let keys = Keys::parse(scheme, [SECRET]).unwrap();
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let request = Request {
        headers: &headers,
        body,
        token: None,
    };
    inspect(&keys, &request, NOW, Tolerance::of(scheme))
        .map(|inspected| inspected.verified.delivery_id.map(str::to_owned))
}

/// Bends the signature header of a right Standard request and reads it.
fn with_signature(scheme: Scheme, bend: impl Fn(&str) -> String) -> Result<(), Reject> {
    let mut headers = signed(scheme, "msg_1", BODY);
    let last = headers.last_mut().unwrap();
    last.1 = bend(&last.1);
    check(scheme, &headers, BODY).map(drop)
}

const STANDARD: Scheme = Scheme::StandardWebhooksV1;

#[test]
fn a_right_request_carries_its_delivery_id() {
    let headers = signed(STANDARD, "msg_1", BODY);
    assert_eq!(check(STANDARD, &headers, BODY), Ok(Some("msg_1".into())));
    let headers = signed(Scheme::Stripe, "ignored", BODY);
    assert_eq!(check(Scheme::Stripe, &headers, BODY), Ok(None));
}

#[test]
fn a_missing_or_repeated_header_is_named() {
    let headers = signed(STANDARD, "msg_1", BODY);
    for (at, part) in [Part::Id, Part::Timestamp, Part::Signature]
        .into_iter()
        .enumerate()
    {
        let mut missing = headers.clone();
        missing.remove(at);
        assert_eq!(
            check(STANDARD, &missing, BODY),
            Err(Reject::MissingHeader(part))
        );

        let mut repeated = headers.clone();
        repeated.push((headers[at].0.to_uppercase(), headers[at].1.clone()));
        assert_eq!(
            check(STANDARD, &repeated, BODY),
            Err(Reject::DuplicateHeader(part))
        );
    }
    let mut unrelated = headers;
    unrelated.extend([("x-a".into(), "1".into()), ("x-a".into(), "2".into())]);
    assert!(check(STANDARD, &unrelated, BODY).is_ok());
}

/// `{id}.{time}.{body}` with a full stop in the id reads as another id and time too.
#[test]
fn an_id_with_a_full_stop_is_refused_although_its_signature_is_right() {
    for id in ["msg.1", ".", "msg_1.1790000000"] {
        let verdict = check(STANDARD, &signed(STANDARD, id, BODY), BODY);
        assert_eq!(verdict, Err(Reject::BadHeader(Part::Id, Fault::FullStop)));
    }
    let fraction = vec![
        ("webhook-id".into(), "msg_1".into()),
        ("webhook-timestamp".into(), "1790000000.5".into()),
        ("webhook-signature".into(), "v1,AAAA".into()),
    ];
    let verdict = check(STANDARD, &fraction, BODY);
    assert_eq!(
        verdict,
        Err(Reject::BadHeader(Part::Timestamp, Fault::NotDigits))
    );
}

#[test]
fn signatures_of_the_standard_family_are_read_strictly() {
    let ok = |bend: fn(&str) -> String| with_signature(STANDARD, bend);
    // Skipped: empty items and labels that are not ours, on either side.
    assert_eq!(ok(|right| format!("  v2,AAAA  {right} ")), Ok(()));
    assert_eq!(ok(|right| format!("v1,AAAA {right}")), Ok(()));
    assert_eq!(ok(|right| format!("{right} nonsense")), Ok(()));
    // The join of two headers: the first item is spoilt, the second still counts.
    assert_eq!(ok(|right| format!("v1,AAAA, {right}")), Ok(()));
    assert_eq!(
        ok(|right| format!("{right}, v1,AAAA")),
        Err(Reject::SignatureMismatch)
    );
    // One reading of base64 only.
    for bend in [
        |right: &str| right.trim_end_matches('=').to_owned(),
        |right: &str| format!("{right}="),
        |right: &str| format!("{right}\u{2c}"),
        |right: &str| right.replace("v1,", "v1, "),
    ] {
        assert_eq!(
            with_signature(STANDARD, bend),
            Err(Reject::SignatureMismatch)
        );
    }
    // Other labels around the very same MAC.
    for label in ["v1a,", "V1,", "v2,", ",", "v1=", ""] {
        let verdict = with_signature(STANDARD, |right| right.replace("v1,", label));
        assert_eq!(verdict, Err(Reject::NoSupportedVersion), "{label}");
    }
    let empty = with_signature(STANDARD, |_| String::new());
    assert_eq!(empty, Err(Reject::BadHeader(Part::Signature, Fault::Empty)));
    assert_eq!(
        with_signature(STANDARD, |_| " ".into()),
        Err(Reject::NoSupportedVersion)
    );
}

/// The last base64 digit before the padding carries two unused bits: they must be zero.
#[test]
fn stray_bits_in_base64_are_refused() {
    let verdict = with_signature(STANDARD, |right| {
        const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut bent = right.to_owned();
        let position = bent.len() - 2;
        let digit = DIGITS.find(&bent[position..=position]).unwrap();
        bent.replace_range(position..=position, &DIGITS[digit + 1..digit + 2]);
        bent
    });
    assert_eq!(verdict, Err(Reject::SignatureMismatch));
}

#[test]
fn only_openai_takes_a_signature_without_label() {
    let bare = |right: &str| right.replace("v1,", "");
    assert_eq!(with_signature(Scheme::Openai, bare), Ok(()));
    assert_eq!(
        with_signature(Scheme::Replicate, bare),
        Err(Reject::NoSupportedVersion)
    );
    assert_eq!(
        with_signature(Scheme::SvixV1, bare),
        Err(Reject::NoSupportedVersion)
    );
    let other = |right: &str| right.replace("v1,", "v1a,");
    assert_eq!(
        with_signature(Scheme::Openai, other),
        Err(Reject::NoSupportedVersion)
    );
    // Nothing between two spaces is not a signature without label.
    let spaced = |right: &str| right.replace("v1,", " v1a,");
    assert_eq!(
        with_signature(Scheme::Openai, spaced),
        Err(Reject::NoSupportedVersion)
    );
}

#[test]
fn a_header_that_is_too_long_or_holds_too_many_signatures_is_refused() {
    let items =
        |count: usize| move |right: &str| format!("{}{right}", "v1,AAAA ".repeat(count - 1));
    assert_eq!(with_signature(STANDARD, items(32)), Ok(()));
    let many = Err(Reject::BadHeader(Part::Signature, Fault::TooManySignatures));
    assert_eq!(with_signature(STANDARD, items(33)), many);
    // Labels we skip count too: reading them is work.
    assert_eq!(
        with_signature(STANDARD, |right| format!("{}{right}", "v9,A ".repeat(32))),
        many
    );
    let stripe = with_signature(Scheme::Stripe, |right| {
        format!("{right}{}", ",v1=a".repeat(31))
    });
    assert_eq!(stripe, many);
    let long = with_signature(STANDARD, |right| format!("{right}{}", " ".repeat(4096)));
    assert_eq!(
        long,
        Err(Reject::BadHeader(Part::Signature, Fault::TooLong))
    );
}

#[test]
fn svix_prefers_its_own_headers_one_by_one() {
    let mut mixed = signed(Scheme::SvixV1, "msg_1", BODY);
    mixed[1].0 = "webhook-timestamp".into();
    mixed.push(("webhook-id".into(), "msg_other".into()));
    assert_eq!(
        check(Scheme::SvixV1, &mixed, BODY),
        Ok(Some("msg_1".into()))
    );
    // And the Standard scheme does not look at them at all.
    let verdict = check(STANDARD, &signed(Scheme::SvixV1, "msg_1", BODY), BODY);
    assert_eq!(verdict, Err(Reject::MissingHeader(Part::Id)));
}

#[test]
fn stripe_headers_are_read_as_stripe_writes_them() {
    let read = |bend: fn(&str) -> String| with_signature(Scheme::Stripe, bend);
    let bad = |fault| Err(Reject::BadHeader(Part::Signature, fault));
    assert_eq!(read(|right| format!("{right},v0=00,unknown,")), Ok(()));
    assert_eq!(
        read(|right| right.replace(",v1", ", v1")),
        Err(Reject::NoSupportedVersion)
    );
    let upper = |right: &str| {
        let (time, mac) = right.split_once(",v1=").unwrap();
        format!("{time},v1={}", mac.to_uppercase())
    };
    assert_eq!(read(upper), Err(Reject::SignatureMismatch));
    assert_eq!(
        read(|right| format!("{right},t=1790000000")),
        bad(Fault::TwoTimestamps)
    );
    assert_eq!(
        read(|right| right.replace("t=1790000000,", "")),
        bad(Fault::NoTimestamp)
    );
    assert_eq!(
        read(|right| right.replace("t=", "t= ")),
        bad(Fault::NotDigits)
    );
    assert_eq!(
        read(|right| right.replace("t=", "t=+")),
        bad(Fault::NotDigits)
    );
    assert_eq!(
        read(|right| right.replace("t=1", "t=01")),
        Err(Reject::SignatureMismatch)
    );
    assert_eq!(
        read(|_| "t=1790000000".into()),
        Err(Reject::NoSupportedVersion)
    );
}

/// Stripe and ElevenLabs bound only the past; the others both sides.
#[test]
fn the_future_is_judged_by_the_schemes_own_rule() {
    let at = |scheme, offset: i64| {
        let key = SigningKey::parse(scheme, SECRET).unwrap();
        let timestamp = UnixSeconds(NOW.0 + offset);
        let headers = sign(
            &key,
            &Message {
                id: "m",
                account: "",
                body: BODY,
                timestamp,
            },
        );
        check(scheme, &headers, BODY).map(drop)
    };
    assert_eq!(at(STANDARD, 300), Ok(()));
    assert_eq!(
        at(STANDARD, 301),
        Err(Reject::TimestampTooNew { lead_s: 301 })
    );
    assert_eq!(
        at(STANDARD, -301),
        Err(Reject::TimestampTooOld { age_s: 301 })
    );
    assert_eq!(at(Scheme::Stripe, 86_400), Ok(()));
    assert_eq!(at(Scheme::ElevenlabsV0, -1800), Ok(()));
    assert_eq!(
        at(Scheme::ElevenlabsV0, -1801),
        Err(Reject::TimestampTooOld { age_s: 1801 })
    );
}

/// A stale forgery is a forgery: freshness says something only about what is authentic.
#[test]
fn the_signature_is_judged_before_its_age() {
    let headers = vec![
        ("webhook-id".into(), "msg_1".into()),
        ("webhook-timestamp".into(), "1".into()),
        (
            "webhook-signature".into(),
            format!("v1,{}=", "A".repeat(43)),
        ),
    ];
    assert_eq!(
        check(STANDARD, &headers, BODY),
        Err(Reject::SignatureMismatch)
    );
    assert_eq!(
        check(STANDARD, &headers, b""),
        Err(Reject::SignatureMismatch)
    );
}

#[test]
fn an_authentic_body_must_be_json_in_utf8() {
    let read = |body: &[u8]| check(STANDARD, &signed(STANDARD, "msg_1", body), body).err();
    assert_eq!(read(b""), Some(Reject::EmptyBody));
    assert_eq!(
        read(b"{\"a\":\"\xff\"}"),
        Some(Reject::InvalidUtf8 { valid_up_to: 6 })
    );
    assert_eq!(read(b"\xef\xbb\xbf{}"), Some(Reject::ByteOrderMark));
    assert_eq!(read(b"{}\r\n"), None);
    assert_eq!(read("{\"a\":\"é😀\\u00e9\"}".as_bytes()), None);
    let deep = [vec![b'['; 200], vec![b']'; 200]].concat();
    for body in [
        &b"{"[..],
        b" ",
        b"{}{}",
        b"{'a':1}",
        b"NaN",
        br#"{"a":"\ud800"}"#,
        &deep,
    ] {
        assert_eq!(
            read(body).map(Reject::code),
            Some("invalid_json"),
            "{body:?}"
        );
    }
}

#[test]
fn a_compressed_request_is_refused_as_such() {
    let with = |coding: &str| {
        let mut headers = signed(STANDARD, "msg_1", BODY);
        headers.push(("Content-Encoding".into(), coding.into()));
        check(STANDARD, &headers, BODY).map(drop)
    };
    assert_eq!(with("identity"), Ok(()));
    assert_eq!(with(""), Ok(()));
    assert_eq!(with("gzip"), Err(Reject::ContentEncoding));
    assert_eq!(with("identity, gzip"), Err(Reject::ContentEncoding));
}

/// Which request the body is about must not be left to the reader.
#[test]
fn fal_names_the_same_request_in_header_and_body() {
    let key = SigningKey::from_seed(Scheme::FalEd25519, &[1; 32]).unwrap();
    let keys = Keys::new(key.public()).unwrap();
    let read = |body: &[u8]| {
        let message = Message {
            id: "req.1",
            account: "github|1",
            body,
            timestamp: NOW,
        };
        let headers = sign(&key, &message);
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes()))
            .collect();
        let request = Request {
            headers: &headers,
            body,
            token: None,
        };
        let inspected = inspect(&keys, &request, NOW, Tolerance::of(Scheme::FalEd25519))?;
        assert_eq!(inspected.verified.delivery_id, Some("req.1"));
        assert_eq!(inspected.verified.account, Some("github|1"));
        Ok(())
    };
    assert_eq!(read(br#"{"request_id": "req.1"}"#), Ok(()));
    for body in [
        r#"{"request_id": "req.2"}"#,
        r#"{"request_id": null}"#,
        "{}",
        "[]",
        "1",
    ] {
        assert_eq!(
            read(body.as_bytes()),
            Err(Reject::RequestIdMismatch),
            "{body}"
        );
    }
}
