//! One style sheet out of many: `@import` lines are replaced by what they name.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes the sheet at `main` with all it imports to `out`, without comments.
pub(crate) fn bundle(main: &Path, out: &Path) -> Result<()> {
    let mut sheet = String::new();
    include(main, &mut sheet, 0)?;
    super::write_changed(out, compact(&sheet).as_bytes())
}

fn include(path: &Path, sheet: &mut String, depth: u32) -> Result<()> {
    if depth > 8 {
        bail!("{} is imported too deep, perhaps by itself", path.display());
    }
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    for line in text.lines() {
        match import(line) {
            Some((name, layer)) => {
                let file = path.with_file_name(name);
                if let Some(layer) = layer {
                    sheet.push_str(&format!("@layer {layer} {{\n"));
                }
                include(&file, sheet, depth + 1)?;
                if layer.is_some() {
                    sheet.push_str("}\n");
                }
            }
            None => {
                sheet.push_str(line);
                sheet.push('\n');
            }
        }
    }
    Ok(())
}

/// Reads `@import "name.css";` and `@import "name.css" layer(base);`.
fn import(line: &str) -> Option<(&str, Option<&str>)> {
    let rest = line.trim().strip_prefix("@import \"")?;
    let (name, rest) = rest.split_once('"')?;
    let rest = rest.trim().strip_suffix(';')?.trim();
    let layer = rest
        .strip_prefix("layer(")
        .and_then(|rest| rest.strip_suffix(')'));
    (rest.is_empty() || layer.is_some()).then_some((name, layer))
}

/// Drops comments and the white space around lines. Strings are left as they are.
fn compact(sheet: &str) -> String {
    let mut bare = String::with_capacity(sheet.len());
    let mut quote = None;
    let mut rest = sheet.chars().peekable();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, '/') if rest.peek() == Some(&'*') => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                continue;
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(_), '\\') => {
                bare.push(c);
                bare.extend(rest.next());
                continue;
            }
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        bare.push(c);
    }
    let lines = bare.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_read_with_and_without_a_layer() {
        assert_eq!(import("@import \"a.css\";"), Some(("a.css", None)));
        assert_eq!(
            import("  @import \"a.css\" layer(base);"),
            Some(("a.css", Some("base")))
        );
        assert_eq!(import("@import \"a.css\" print;"), None);
        assert_eq!(import("a { color: red }"), None);
    }

    #[test]
    fn comments_go_and_strings_stay() {
        let sheet = "/* one\n * two */\na::before {\n  content: \"/* no \\\" */\"; /* x */\n}\n";
        assert_eq!(
            compact(sheet),
            "a::before {\ncontent: \"/* no \\\" */\";\n}\n"
        );
    }
}
