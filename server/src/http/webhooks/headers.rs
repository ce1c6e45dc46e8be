//! Which headers of a delivery are used and kept.

use axum::http::HeaderMap;
use domain::signature::{Part, Reject};

/// Longest id of a delivery.
const MAX_ID_BYTES: usize = 256;
/// Headers that help to explain a delivery. Whatever else a sender or a proxy adds may carry a credential
/// or the URL with its token, and is not kept.
const KEPT: &[&str] = &[
    "content-length",
    "content-type",
    "date",
    "traceparent",
    "user-agent",
    "x-request-id",
];
/// Beginnings of the names that senders of webhooks use.
const KEPT_FAMILIES: &[&str] = &["webhook-", "svix-", "x-fal-webhook-"];
/// Parts of the names of headers that carry credentials or proofs.
const SECRET: &[&str] = &["auth", "signature", "secret", "token", "key", "password"];

/// The sender's id of the delivery, for schemes whose signature does not cover one.
pub(super) fn sender_id(headers: &HeaderMap) -> Result<Option<&str>, Reject> {
    let mut values = headers.get_all("webhook-id").iter();
    let (first, second) = (values.next(), values.next());
    if second.is_some() {
        return Err(Reject::DuplicateHeader(Part::Id));
    }
    let text = first.and_then(|value| value.to_str().ok());
    Ok(text.filter(|text| !text.is_empty() && text.len() <= MAX_ID_BYTES))
}

/// The headers that are kept, as a JSON array of `[name, value]`. A value that holds the token of the URL
/// is left out whatever its name.
pub(super) fn stored(
    headers: &HeaderMap,
    secret_header: Option<&str>,
    token: Option<&str>,
) -> String {
    let kept: Vec<_> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
        .filter(|(name, value)| {
            let told = KEPT.contains(name)
                || KEPT_FAMILIES.iter().any(|family| name.starts_with(family))
                    && !SECRET.iter().any(|part| name.contains(part));
            told && Some(*name) != secret_header
                && !token.is_some_and(|token| value.contains(token))
        })
        .collect();
    serde_json::to_string(&kept).unwrap_or_else(|_| "[]".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        map
    }

    #[test]
    fn credentials_are_not_kept() {
        let map = headers(&[
            ("content-type", "application/json"),
            ("authorization", "Bearer x"),
            ("proxy-authorization", "Basic x"),
            ("cookie", "a=b"),
            ("webhook-signature", "v1,x"),
            ("x-fal-webhook-signature", "x"),
            ("dg-token", "x"),
            ("x-api-key", "x"),
            ("x-shared", "x"),
            ("webhook-id", "msg_1"),
        ]);
        assert_eq!(
            stored(&map, Some("x-shared"), None),
            r#"[["content-type","application/json"],["webhook-id","msg_1"]]"#
        );
        assert_eq!(
            stored(&map, Some("webhook-id"), None)
                .matches("msg_1")
                .count(),
            0
        );
    }

    #[test]
    fn the_token_of_the_url_is_not_kept_by_way_of_a_proxy() {
        let map = headers(&[
            ("x-original-url", "/webhooks/acme/s3cret"),
            ("x-request-id", "r-1 /webhooks/acme/s3cret"),
            ("referer", "https://example.com/webhooks/acme/s3cret"),
            ("user-agent", "sender/1"),
        ]);
        assert_eq!(
            stored(&map, None, Some("s3cret")),
            r#"[["user-agent","sender/1"]]"#
        );
    }

    #[test]
    fn an_id_is_taken_only_when_there_is_one() {
        assert_eq!(sender_id(&headers(&[])), Ok(None));
        assert_eq!(
            sender_id(&headers(&[("webhook-id", "msg_1")])),
            Ok(Some("msg_1"))
        );
        let twice = headers(&[("webhook-id", "msg_1"), ("webhook-id", "msg_2")]);
        assert_eq!(sender_id(&twice), Err(Reject::DuplicateHeader(Part::Id)));
    }
}
