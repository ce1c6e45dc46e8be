//! Strict JSON: plain, small, shallow, every member known and named once. What is not JSON is 400;
//! JSON that is not what the route expects is 422 and says which value.

use axum::{
    body::Body,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use futures::StreamExt as _;
use serde::de::DeserializeOwned;

use crate::http::problem::{Kind, Problem};

/// Largest body.
const MAX_BYTES: usize = 64 * 1024;
/// Deepest nesting of objects and arrays.
const MAX_DEPTH: usize = 16;

/// A request body read strictly.
pub(super) struct Strict<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Strict<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        check_headers(request.headers())?;
        let bytes = read(request.into_body()).await?;
        parse(&bytes).map(Self)
    }
}

fn check_headers(headers: &HeaderMap) -> Result<(), Problem> {
    let media = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let essence = media.map(|media| media.split(';').next().unwrap_or(media).trim());
    if !essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json")) {
        let detail = "The content type must be application/json.";
        return Err(Problem::new(Kind::UnsupportedMedia, detail));
    }
    if headers.contains_key(header::CONTENT_ENCODING) {
        let detail = "Compressed bodies are not accepted.";
        return Err(Problem::new(Kind::UnsupportedMedia, detail));
    }
    Ok(())
}

async fn read(body: Body) -> Result<Vec<u8>, Problem> {
    let mut chunks = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Problem::new(Kind::Malformed, "The body ended early."))?;
        if bytes.len() + chunk.len() > MAX_BYTES {
            return Err(Problem::new(
                Kind::TooLarge,
                "The body is larger than 64 KiB.",
            ));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Problem::new(Kind::Malformed, "The body is not UTF-8."))?;
    if depth(text) > MAX_DEPTH {
        let detail = format!("The body nests deeper than {MAX_DEPTH} levels.");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    serde_json::from_str(text).map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => Kind::Invalid,
            _ => Kind::Malformed,
        };
        Problem::new(kind, error.to_string())
    })
}

/// Deepest nesting, counted outside of strings; good enough for text that is not JSON at all.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut quoted, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        assert_eq!(depth(r#"{"a":[1,{"b":"]]}}{{[["}]}"#), 3);
        assert_eq!(depth(r#""\"[[[""#), 0);
        assert_eq!(depth(&"[".repeat(100)), 100);
    }

    #[test]
    fn what_is_not_json_and_what_is_not_expected_are_told_apart() {
        let kind = |text: &str| {
            parse::<std::collections::BTreeMap<String, String>>(text.as_bytes())
                .unwrap_err()
                .kind()
        };
        assert_eq!(kind("{"), Kind::Malformed);
        assert_eq!(kind(r#"{"a":1.5}"#), Kind::Invalid);
        assert_eq!(kind(&"[".repeat(200)), Kind::Malformed);
    }
}
