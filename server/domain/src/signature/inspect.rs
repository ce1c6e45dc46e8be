//! The answer for a whole request: signature, freshness, then whether the body can be read.

use std::fmt;

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

use super::{Keys, Reject, Request, Scheme, Tolerance, UnixSeconds, Verified, verify};

/// A request that may be acted upon.
#[derive(Clone, PartialEq, Debug)]
pub struct Inspected<'r> {
    /// What the signature vouches for.
    pub verified: Verified<'r>,
    /// The body, parsed. For ids and states: a number with a fraction may have been rounded on its
    /// way through a float, so quantities are read from the text of the body.
    pub json: Value,
}

/// A request that may be acted upon, with its body still as text: no tree is built of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Examined<'r> {
    /// What the signature vouches for.
    pub verified: Verified<'r>,
    /// The body: UTF-8, and JSON that [`parse_json`] would take.
    pub text: &'r str,
}

/// Checks everything that can be decided from the request alone.
///
/// # Errors
/// The first [`Reject`] in the order of the [module documentation](super). A refusal for which
/// [`Reject::is_authentic`] holds is about a request the sender really made.
pub fn inspect<'r>(
    keys: &Keys,
    request: &Request<'r>,
    now: UnixSeconds,
    tolerance: Tolerance,
) -> Result<Inspected<'r>, Reject> {
    let Examined { verified, .. } = examine(keys, request, now, tolerance)?;
    let json = parse_json(request.body)?;
    Ok(Inspected { verified, json })
}

/// What [`inspect`] checks, for a caller that reads the body in its own way afterwards.
///
/// # Errors
/// As [`inspect`].
pub fn examine<'r>(
    keys: &Keys,
    request: &Request<'r>,
    now: UnixSeconds,
    tolerance: Tolerance,
) -> Result<Examined<'r>, Reject> {
    if is_encoded(request) {
        return Err(Reject::ContentEncoding);
    }
    let verified = verify(keys, request, now, tolerance)?;
    let text = text(request.body)?;
    serde_json::from_str::<Syntax>(text).map_err(|error| not_json(&error))?;
    check_request_id(keys.scheme(), &verified, text)?;
    Ok(Examined { verified, text })
}

/// Reads an authenticated body: it must be there, be UTF-8 and be JSON.
///
/// # Errors
/// [`Reject::EmptyBody`], [`Reject::InvalidUtf8`], [`Reject::ByteOrderMark`] or
/// [`Reject::InvalidJson`].
pub fn parse_json(body: &[u8]) -> Result<Value, Reject> {
    serde_json::from_str(text(body)?).map_err(|error| not_json(&error))
}

fn text(body: &[u8]) -> Result<&str, Reject> {
    if body.is_empty() {
        return Err(Reject::EmptyBody);
    }
    let text = std::str::from_utf8(body).map_err(|error| Reject::InvalidUtf8 {
        valid_up_to: error.valid_up_to(),
    })?;
    if text.starts_with('\u{feff}') {
        return Err(Reject::ByteOrderMark);
    }
    Ok(text)
}

fn not_json(error: &serde_json::Error) -> Reject {
    Reject::InvalidJson {
        line: error.line(),
        column: error.column(),
    }
}

/// Any JSON, checked as strictly as if it were read into a tree (depth, numbers, surrogates), and
/// dropped as it goes by. `serde::de::IgnoredAny` would skip over those checks.
struct Syntax;

impl<'de> Deserialize<'de> for Syntax {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> de::Visitor<'de> for Syntax {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut members: A) -> Result<Self, A::Error> {
        while members.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// Whether a content coding other than `identity` is declared, however often.
fn is_encoded(request: &Request<'_>) -> bool {
    request.headers.iter().any(|(name, value)| {
        let value = value.trim_ascii();
        name.eq_ignore_ascii_case("content-encoding")
            && !value.is_empty()
            && !value.eq_ignore_ascii_case(b"identity")
    })
}

/// fal names the request twice; only one of the two is what the adapter will read.
fn check_request_id(scheme: Scheme, verified: &Verified<'_>, text: &str) -> Result<(), Reject> {
    if scheme != Scheme::FalEd25519 {
        return Ok(());
    }
    #[derive(Deserialize)]
    struct Body {
        request_id: String,
    }
    let in_body = serde_json::from_str::<Body>(text)
        .ok()
        .map(|body| body.request_id);
    if in_body.as_deref() == verified.delivery_id {
        Ok(())
    } else {
        Err(Reject::RequestIdMismatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two readings must refuse the same bodies, or a body could be accepted and then be unreadable
    /// to everyone.
    #[test]
    fn the_syntax_check_agrees_with_the_tree() {
        let deep = |depth: usize| format!("{}7{}", "[".repeat(depth), "]".repeat(depth));
        let bodies = [
            r#"{"a":[1,-2,3.5,1e3,true,null,"x",{"b":{}}]}"#,
            "7",
            r#""x""#,
            "null",
            "",
            "{",
            "{}x",
            "01",
            "1e999",
            "-1e999",
            r#""\ud800""#,
            r#"{"\ud83d":1}"#,
            r#""\u0000""#,
            "[1,]",
            "{\"a\":1,}",
            "\u{feff}{}",
            "nul",
            "{a:1}",
            "'x'",
            "\"\t\"",
            "18446744073709551616",
            &deep(127),
            &deep(128),
            &deep(129),
            &deep(100_000),
        ];
        for body in bodies {
            let tree = parse_json(body.as_bytes()).map(|_| ());
            let syntax = text(body.as_bytes()).and_then(|text| {
                serde_json::from_str::<Syntax>(text)
                    .map(|_| ())
                    .map_err(|error| not_json(&error))
            });
            assert_eq!(tree, syntax, "{}", &body[..body.len().min(60)]);
        }
    }
}
