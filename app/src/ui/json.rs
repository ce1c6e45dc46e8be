//! Raw JSON as evidence: re-indented, never re-written. Literals are copied through as they
//! came, so `1.10` stays `1.10` and keys keep their order.

use leptos::prelude::*;

use super::id::CopyButton;

/// The most that is drawn; the rest is named, not hidden.
const SHOWN_BYTES: usize = 64 * 1024;

/// A piece of JSON text with what it is, so that it can be coloured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Key(&'a str),
    Text(&'a str),
    Literal(&'a str),
    Number(&'a str),
    Mark(char),
}

/// Raw JSON, folded. Text that is not JSON is shown as it is.
#[component]
pub fn JsonView(
    /// What it is: "Payload as received".
    #[prop(into)]
    title: String,
    /// The text, with secrets already masked.
    #[prop(into)]
    raw: String,
    /// Unfolded.
    #[prop(optional)]
    open: bool,
) -> AnyView {
    let size = format!("{} bytes", raw.len());
    let cut = raw.floor_char_boundary(SHOWN_BYTES);
    let rest = (cut < raw.len()).then(|| {
        let note = format!(
            "The first {cut} of {} bytes are shown; copy takes all.",
            raw.len()
        );
        view! { <span>{note}</span> }
    });
    let body = pieces(&raw[..cut])
        .into_iter()
        .map(|(class, text)| match class {
            Some(class) => view! { <span class=class>{text}</span> }.into_any(),
            None => text.into_any(),
        });
    let body = body.collect_view();
    view! {
        <details class="json" open=open>
            <summary>{title.clone()}<span class="bytes">{size}</span></summary>
            <pre tabindex="0" aria-label=title.clone()><code>{body}</code></pre>
            <div class="under">
                {rest}
                <CopyButton value=raw name=format!("Copy {}", title.to_lowercase())/>
            </div>
        </details>
    }
    .into_any()
}

/// Indented text in pieces, neighbours of one colour joined so that the page stays small.
fn pieces(raw: &str) -> Vec<(Option<&'static str>, String)> {
    let mut out: Vec<(Option<&'static str>, String)> = Vec::new();
    let mut push = |class: Option<&'static str>, text: &str| match out.last_mut() {
        Some((last, joined)) if *last == class => joined.push_str(text),
        _ => out.push((class, text.to_owned())),
    };
    let tokens = tokens(raw);
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate() {
        let next = tokens.get(i + 1);
        match *token {
            Token::Key(text) => push(Some("k"), text),
            Token::Text(text) => push(Some("s"), text),
            Token::Literal(text) => push(Some("l"), text),
            Token::Number(text) => push(Some("n"), text),
            Token::Mark(open @ ('{' | '[')) => {
                depth += 1;
                push(None, open.encode_utf8(&mut [0; 4]));
                if !matches!(next, Some(Token::Mark('}' | ']'))) {
                    push(None, &line(depth));
                }
            }
            Token::Mark(close @ ('}' | ']')) => {
                depth = depth.saturating_sub(1);
                if !matches!(
                    i.checked_sub(1).and_then(|i| tokens.get(i)),
                    Some(Token::Mark('{' | '['))
                ) {
                    push(None, &line(depth));
                }
                push(None, close.encode_utf8(&mut [0; 4]));
            }
            Token::Mark(',') => push(None, &format!(",{}", line(depth))),
            Token::Mark(':') => push(None, ": "),
            Token::Mark(other) => push(None, other.encode_utf8(&mut [0; 4])),
        }
    }
    out
}

fn line(depth: usize) -> String {
    // Deeply nested input must not make the page quadratic in its depth.
    format!("\n{}", "  ".repeat(depth.min(32)))
}

/// Cuts text into tokens. It accepts anything: what is not JSON comes out as literals.
fn tokens(raw: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let mut rest = raw.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '{' | '}' | '[' | ']' | ',' | ':' => (Token::Mark(first), 1),
            '"' => {
                let length = string_length(rest);
                let is_key = rest[length..].trim_start().starts_with(':');
                let text = &rest[..length];
                (
                    if is_key {
                        Token::Key(text)
                    } else {
                        Token::Text(text)
                    },
                    length,
                )
            }
            _ => {
                let ends = |c: char| c.is_whitespace() || "{}[],:\"".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                let text = &rest[..length];
                let number = first.is_ascii_digit() || first == '-';
                (
                    if number {
                        Token::Number(text)
                    } else {
                        Token::Literal(text)
                    },
                    length,
                )
            }
        };
        out.push(token);
        rest = rest[length..].trim_start();
    }
    out
}

/// The length of the string at the start of `text`, quotes and escapes included.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return i + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, expected: &str) {
        let text: String = pieces(raw).into_iter().map(|(_, text)| text).collect();
        assert_eq!(text, expected);
    }

    #[test]
    fn literals_are_copied_and_only_space_changes() {
        check(
            r#"{"b":1.10,"a":[true,null,"x: {\"y\"}, ☃"],"e":{},"n":-0}"#,
            "{\n  \"b\": 1.10,\n  \"a\": [\n    true,\n    null,\n    \"x: {\\\"y\\\"}, ☃\"\n  ],\n  \"e\": {},\n  \"n\": -0\n}",
        );
    }

    #[test]
    fn text_that_is_not_json_is_shown_and_cannot_become_markup() {
        check("hello", "hello");
        check("\"open", "\"open");
        check("]]]", "\n]\n]\n]");
        let raw = r#"{"x":"</code><script>alert(1)</script>"}"#;
        let html = view! { <JsonView title="Payload" raw/> }.to_html();
        assert!(!html.contains("<script"), "{html}");
    }

    #[test]
    fn depth_does_not_make_the_page_explode() {
        let raw = "[".repeat(20_000);
        let text: usize = pieces(&raw).iter().map(|(_, text)| text.len()).sum();
        assert!(text < 100 * raw.len());
    }
}
