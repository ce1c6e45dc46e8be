//! Secrets in payloads, masked before they leave the server. Everything else stays as it came,
//! byte for byte, because a payload is evidence.

/// Parts of key names whose values are never shown.
const SECRET: [&str; 8] = [
    "secret",
    "password",
    "token",
    "authorization",
    "api_key",
    "apikey",
    "credential",
    "private_key",
];

/// Token counts are usage, not secrets.
const USAGE: [&str; 3] = ["tokens", "token_count", "tokens_per"];

/// The text with the values of secret keys covered.
pub(crate) fn masked(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('"') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let key = string(from);
        out.push_str(key);
        rest = &from[key.len()..];
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start);
        let Some(value) = value.filter(|_| is_secret(key)) else {
            continue;
        };
        out.push_str(&rest[..rest.len() - value.len()]);
        let hidden = match value.as_bytes().first() {
            Some(b'"') => string(value),
            // Objects and arrays are walked into: their own keys decide.
            Some(b'{' | b'[') | None => "",
            Some(_) => &value[..value.find([',', '}', ']']).unwrap_or(value.len())],
        };
        if !hidden.is_empty() {
            out.push_str("\"•••\"");
        }
        rest = &value[hidden.len()..];
    }
    out.push_str(rest);
    out
}

fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET.iter().any(|part| key.contains(part)) && !USAGE.iter().any(|part| key.contains(part))
}

/// The string at the start of `text`, quotes included; all of the text when it never ends.
fn string(text: &str) -> &str {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return &text[..=at],
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn secrets_are_covered_and_nothing_else_changes() {
        assert_eq!(
            masked(r#"{"a":1.10, "api_key" : "sk\"x", "output_tokens": 7,"n":[{"Token":12}]}"#),
            r#"{"a":1.10, "api_key" : "•••", "output_tokens": 7,"n":[{"Token":"•••"}]}"#
        );
    }

    #[test]
    fn text_that_is_not_json_passes_through() {
        assert_eq!(masked("hello \"open"), "hello \"open");
        assert_eq!(masked(r#"{"secret":"never closed"#), r#"{"secret":"•••""#);
        assert_eq!(masked(r#"{"secret":"#), r#"{"secret":"#);
    }
}
