//! Where a form returns to: a path of this site, or home.

use axum::{
    http::{HeaderValue, StatusCode, Uri, header},
    response::{IntoResponse, Response},
};

const HOME: &str = "/";
const MAX_BYTES: usize = 2000;

/// The path if it stays on this site, else home. Browsers read `//host` and `/\host` as another site and
/// drop tabs and line breaks inside, so whatever could be read in two ways is refused.
pub(super) fn safe(path: &str) -> &str {
    let plain = path.len() <= MAX_BYTES
        && path.starts_with('/')
        && !path.starts_with("//")
        && path
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let stays = plain
        && path
            .parse::<Uri>()
            .is_ok_and(|uri| uri.authority().is_none());
    if stays { path } else { HOME }
}

/// Sends the browser on with a GET.
pub(super) fn see_other(path: &str) -> Response {
    let location = HeaderValue::from_str(path).unwrap_or(HeaderValue::from_static(HOME));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// A text inside a query.
pub(super) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_path_never_leaves_this_site() {
        for path in [
            "/",
            "/jobs?state=failed&before=job_1",
            "/jobs/job_1#proof",
            "/a//b",
        ] {
            assert_eq!(safe(path), path);
        }
        for path in [
            "",
            "jobs",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil.example",
            "/jobs\r\nset-cookie: a=b",
            "https://evil.example/",
            "javascript:alert(1)",
            "/jobs\\..",
            "/ä",
            " /jobs",
            "/ jobs",
        ] {
            assert_eq!(safe(path), HOME, "{path:?}");
        }
        assert_eq!(safe(&format!("/{}", "a".repeat(3000))), HOME);
    }

    #[test]
    fn a_text_in_a_query_cannot_end_it() {
        assert_eq!(encode("a&b=c #é"), "a%26b%3Dc%20%23%C3%A9");
    }
}
