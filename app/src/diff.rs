//! What differs between two JSON documents, by path. Fields in common are left out; order of keys and
//! white space are no difference. Long texts are compared inside as well.

mod inside;

use serde_json::Value;

pub(crate) use self::inside::{Inside, Piece};

/// Differences that are listed; the rest is in the documents.
const MOST: usize = 200;

/// One field that differs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Change {
    /// Where: `data.usage.images`.
    pub(crate) path: String,
    /// What the first document has there.
    pub(crate) before: Option<String>,
    /// What the other one has there.
    pub(crate) after: Option<String>,
    /// What differs inside, when both are text and long.
    pub(crate) inside: Option<Inside>,
}

/// Compares two documents; text that is not JSON is compared whole.
pub(crate) fn differences(before: &str, after: &str) -> Vec<Change> {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let mut changes = Vec::new();
    compare(
        String::new(),
        Some(&parse(before)),
        Some(&parse(after)),
        &mut changes,
    );
    changes
}

fn compare(path: String, before: Option<&Value>, after: Option<&Value>, out: &mut Vec<Change>) {
    if before == after || out.len() >= MOST {
        return;
    }
    match (before, after) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let mut keys: Vec<_> = left.keys().chain(right.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                compare(path, left.get(key), right.get(key), out);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                compare(format!("{path}[{at}]"), left.get(at), right.get(at), out);
            }
        }
        (before, after) => out.push(Change {
            path: if path.is_empty() {
                "the whole document".into()
            } else {
                path
            },
            before: before.map(ToString::to_string),
            after: after.map(ToString::to_string),
            inside: before.zip(after).and_then(long_texts),
        }),
    }
}

fn long_texts((before, after): (&Value, &Value)) -> Option<Inside> {
    inside::inside(before.as_str()?, after.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &[&str]) {
        let told: Vec<_> = differences(before, after)
            .into_iter()
            .map(|change| {
                let show = |value: Option<String>| value.unwrap_or_else(|| "-".into());
                format!(
                    "{} {} {}",
                    change.path,
                    show(change.before),
                    show(change.after)
                )
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn only_what_differs_is_told_by_path() {
        check(
            r#"{"a":1,"b":[1,2]}"#,
            r#"{ "b": [1, 3], "a": 1 }"#,
            &["b[1] 2 3"],
        );
        check(
            r#"{"a":{"x":1}}"#,
            r#"{"a":{"y":1}}"#,
            &["a.x 1 -", "a.y - 1"],
        );
        check("{}", "[]", &["the whole document {} []"]);
        check("same", "same", &[]);
    }
}
