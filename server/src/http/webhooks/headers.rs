//! Which headers of a delivery are used and kept.

use axum::http::HeaderMap;
use domain::signature::{Part, Reject};

/// Longest id of a delivery.
const MAX_ID_BYTES: usize = 256;
/// Parts of the names of headers that carry credentials or proofs; their values are not kept.
const SECRET: &[&str] = &[
    "auth",
    "cookie",
    "signature",
    "secret",
    "token",
    "api-key",
    "password",
];

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

/// The headers as a JSON array of `[name, value]`, those that carry credentials left out.
pub(super) fn stored(headers: &HeaderMap, secret_header: Option<&str>) -> String {
    let kept: Vec<_> = headers
        .iter()
        .filter(|(name, _)| {
            let name = name.as_str();
            Some(name) != secret_header && !SECRET.iter().any(|part| name.contains(part))
        })
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
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
            stored(&map, Some("x-shared")),
            r#"[["content-type","application/json"],["webhook-id","msg_1"]]"#
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
