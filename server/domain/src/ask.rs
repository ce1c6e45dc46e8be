//! Asking a provider how a job stands: when it may be asked, and what can come of it.

use std::{fmt, str::FromStr};

use chrono::{DateTime, TimeDelta, Utc};

use crate::code::code;

/// Pause between two questions about one job.
pub const PAUSE: TimeDelta = TimeDelta::seconds(5);
/// After so long a question without an answer counts as lost, and the next may be asked.
pub const LOST_AFTER: TimeDelta = TimeDelta::minutes(1);
/// Longest address of an answer API.
const MAX_BASE_CHARS: usize = 500;

code!(
    /// What came of asking.
    Outcome {
        /// The work goes on.
        Running = "running",
        /// The work has ended; the answer says how.
        Ended = "ended",
        /// It says something that we do not use.
        Unused = "unused",
        /// It is about the job, and cannot be used.
        Unusable = "unusable",
        /// There was no connection.
        Unreachable = "unreachable",
        /// There was no whole answer in time.
        TooSlow = "too_slow",
        /// The answer was larger than we read.
        TooLarge = "too_large",
        /// We were sent elsewhere, where we do not go.
        Redirected = "redirected",
        /// The provider knows no such work.
        NotFound = "not_found",
        /// The provider did not take our token.
        Refused = "refused",
        /// The provider answered with another status than success.
        Failed = "failed",
        /// The answer was no JSON.
        NotJson = "not_json",
        /// The answer was JSON of another shape.
        Unreadable = "unreadable",
        /// The answer was about other work.
        OtherJob = "other_job",
        /// The answer could not be stored.
        NotStored = "not_stored",
    }
);

impl Outcome {
    /// Whether the answer is kept as an event.
    pub const fn is_kept(self) -> bool {
        matches!(
            self,
            Self::Running | Self::Ended | Self::Unused | Self::Unusable
        )
    }
}

/// The question before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    /// Which of the job.
    pub number: i32,
    /// When it was asked.
    pub asked_at: DateTime<Utc>,
    /// Whether something came of it.
    pub answered: bool,
}

/// Why a job may not be asked about yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotYet {
    /// Another question waits for its answer.
    #[error("the provider is being asked about this job already; its answer is shown here")]
    UnderWay,
    /// The last question is too young.
    #[error("the provider was asked about this job a moment ago; ask again in a few seconds")]
    TooSoon,
}

/// The number of the next question about a job.
///
/// # Errors
/// [`NotYet`].
pub fn next(before: Option<Before>, now: DateTime<Utc>) -> Result<i32, NotYet> {
    let Some(before) = before else {
        return Ok(1);
    };
    let age = now - before.asked_at;
    if !before.answered && age < LOST_AFTER {
        return Err(NotYet::UnderWay);
    }
    if age < PAUSE {
        return Err(NotYet::TooSoon);
    }
    Ok(before.number + 1)
}

/// Where a provider answers: https, or http on this machine; without credentials, query or fragment, so
/// that what is appended stays a path of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Base(String);

/// A text that is no address of an answer API.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "write an address like https://api.example.com, without a query; http is for this machine only"
)]
pub struct BaseError;

impl Base {
    /// The address without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The address of a path below it.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Base {
    type Err = BaseError;

    fn from_str(text: &str) -> Result<Self, BaseError> {
        let text = text.trim_end_matches('/');
        let (scheme, rest) = text.split_once("://").ok_or(BaseError)?;
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let host = host(authority).ok_or(BaseError)?;
        let is_right = match scheme {
            "https" => true,
            "http" => matches!(host, "127.0.0.1" | "[::1]" | "localhost"),
            _ => false,
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        let stays = path.chars().all(plain)
            && path
                .split('/')
                .skip(1)
                .all(|part| !matches!(part, "" | "." | ".."));
        let fits = text.chars().count() <= MAX_BASE_CHARS;
        (is_right && stays && fits)
            .then(|| Self(text.to_owned()))
            .ok_or(BaseError)
    }
}

/// The host of `host` or `host:port`.
fn host(authority: &str) -> Option<&str> {
    let bare = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            port.parse::<u16>().ok()?;
            host
        }
        _ => authority,
    };
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let is_name = !bare.is_empty() && bare.chars().all(named);
    let is_address = bare
        .strip_prefix('[')
        .and_then(|bare| bare.strip_suffix(']'))
        .is_some_and(|bare| bare.parse::<std::net::Ipv6Addr>().is_ok());
    (is_name || is_address).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    #[test]
    fn one_question_at_a_time_and_not_too_often() {
        let before = |answered| {
            Some(Before {
                number: 3,
                asked_at: at(100),
                answered,
            })
        };
        assert_eq!(next(None, at(0)), Ok(1));
        assert_eq!(next(before(true), at(104)), Err(NotYet::TooSoon));
        assert_eq!(next(before(true), at(105)), Ok(4));
        assert_eq!(next(before(false), at(105)), Err(NotYet::UnderWay));
        assert_eq!(next(before(false), at(159)), Err(NotYet::UnderWay));
        assert_eq!(next(before(false), at(160)), Ok(4));
        // A clock that was set back asks later, never twice.
        assert_eq!(next(before(true), at(90)), Err(NotYet::TooSoon));
    }

    #[test]
    fn an_address_is_https_or_of_this_machine() {
        for (text, kept) in [
            ("https://api.replicate.com", "https://api.replicate.com"),
            (
                "https://api.example.com:8443/v2/",
                "https://api.example.com:8443/v2",
            ),
            ("http://127.0.0.1:9", "http://127.0.0.1:9"),
            ("http://[::1]:9/x", "http://[::1]:9/x"),
            ("http://localhost", "http://localhost"),
        ] {
            assert_eq!(text.parse::<Base>().unwrap().as_str(), kept);
        }
        for text in [
            "",
            "api.example.com",
            "ftp://api.example.com",
            "http://api.example.com",
            "http://127.0.0.1.example.com",
            "http://localhost@evil.example",
            "https://user:word@api.example.com",
            "https://api.example.com?x=1",
            "https://api.example.com/#x",
            "https://api.example.com/a/../b",
            "https://api.example.com//a",
            "https://api.example.com/a%2f",
            "https://api.example.com:99999",
            "https://api.example.com:",
            "https://",
            "https:///x",
            "https://[::1",
            "https://exa mple.com",
            "https://example.com\\@evil.example",
            "https://example.com\r\nx: y",
        ] {
            assert_eq!(text.parse::<Base>(), Err(BaseError), "{text}");
        }
        let long = format!("https://a.example/{}", "x".repeat(MAX_BASE_CHARS));
        assert_eq!(long.parse::<Base>(), Err(BaseError));
    }
}
