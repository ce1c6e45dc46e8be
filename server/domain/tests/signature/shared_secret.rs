//! Senders that do not sign show the secret itself: all of it, once, and nothing else will do.

use domain::signature::{
    Keys, Part, Reject, Request, Scheme, Tolerance, UnixSeconds, Verified, verify,
};

const NOW: UnixSeconds = UnixSeconds(1_790_000_000);
const BODY: &[u8] = b"{}";

#[test]
fn shared_secrets_are_compared_whole() {
    let keys = Keys::parse(
        Scheme::StaticHeader,
        [
            "X-Hook: Bearer 0123456789abcdef",
            "x-hook: Bearer fedcba9876543210",
        ],
    )
    .unwrap();
    let none = Verified {
        delivery_id: None,
        timestamp: None,
        account: None,
    };
    let shown = |headers: &[(&str, &[u8])]| {
        let request = Request {
            headers,
            body: BODY,
            token: None,
        };
        verify(&keys, &request, NOW, Tolerance::of(Scheme::StaticHeader))
            .map(|v| assert_eq!(v, none))
    };
    assert_eq!(shown(&[("x-HOOK", b"Bearer fedcba9876543210")]), Ok(()));
    for wrong in [
        &b""[..],
        b"Bearer",
        b"bearer fedcba9876543210",
        b"Bearer fedcba98765432100",
    ] {
        assert_eq!(shown(&[("x-hook", wrong)]), Err(Reject::TokenMismatch));
    }
    assert_eq!(
        shown(&[("x-other", b"")]),
        Err(Reject::MissingHeader(Part::Secret))
    );
    let right: (&str, &[u8]) = ("x-hook", b"Bearer fedcba9876543210");
    assert_eq!(
        shown(&[right, right]),
        Err(Reject::DuplicateHeader(Part::Secret))
    );
}

#[test]
fn a_url_token_is_compared_whole() {
    let keys = Keys::parse(Scheme::UrlToken, ["0123456789abcdef", "fedcba9876543210"]).unwrap();
    let shown = |token| {
        let request = Request {
            headers: &[],
            body: BODY,
            token,
        };
        verify(&keys, &request, NOW, Tolerance::of(Scheme::UrlToken)).map(drop)
    };
    assert_eq!(shown(Some("fedcba9876543210")), Ok(()));
    assert_eq!(shown(Some("0123456789abcdef")), Ok(()));
    assert_eq!(shown(Some("0123456789abcde")), Err(Reject::TokenMismatch));
    assert_eq!(shown(Some("")), Err(Reject::TokenMismatch));
    assert_eq!(shown(None), Err(Reject::MissingToken));
}
