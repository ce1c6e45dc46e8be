//! Asking: where a provider tells how one of its jobs stands, and how what it answers becomes an event.
//!
//! What stays true: an answer is the same content as the webhook that tells the same, so it has the same
//! canonical hash; its key is made of the reference and that hash, so the same answer is one event however
//! often it is asked for; and an answer that names other work than was asked about is no answer.

use super::{Adapter, Envelope, Incoming, Reading, UNREADABLE};
use crate::{
    ask::Outcome,
    event::RejectReason,
    fact::{Address, Fact, Verdict},
    id::JobId,
};

/// What is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Question<'q> {
    /// The provider's id of the work.
    pub reference: &'q str,
    /// Our id.
    pub job: JobId,
}

/// An answer about the work that was asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// What identifies it as an event.
    pub envelope: Envelope,
    /// What it says; one that is kept.
    pub outcome: Outcome,
}

impl Adapter {
    /// The path, below the address of the answer API, at which the provider tells how work stands; `None`
    /// for a reference that cannot be a part of a path.
    pub fn question(self, reference: &str) -> Option<String> {
        let part = path_part(reference)?;
        Some(match self {
            Self::Generic => format!("/jobs/{part}"),
            Self::Replicate => format!("/v1/predictions/{part}"),
        })
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// The outcome of an answer that is not kept.
    pub fn answer(self, question: Question<'_>, body: &[u8]) -> Result<Answer, Outcome> {
        let body = std::str::from_utf8(body).map_err(|_| Outcome::NotJson)?;
        if serde_json::from_str::<serde::de::IgnoredAny>(body).is_err() {
            return Err(Outcome::NotJson);
        }
        let job = question.job.to_string();
        let incoming = Incoming {
            delivery_id: Some("asked"),
            job_parameter: Some(&job),
            body,
        };
        let envelope = self.envelope(&incoming).map_err(|_| Outcome::Unreadable)?;
        if envelope.kind == UNREADABLE {
            return Err(Outcome::Unreadable);
        }
        let named = envelope.provider_reference.as_deref();
        let is_other = envelope.job_hint != Some(question.job)
            || named.is_some_and(|named| named != question.reference);
        if is_other {
            return Err(Outcome::OtherJob);
        }
        let outcome = match self.fact(body.as_bytes()) {
            Ok(Reading::Fact { about, .. }) if names_nothing(&about) => {
                return Err(Outcome::OtherJob);
            }
            Ok(Reading::Fact { fact, .. }) => standing(&fact),
            Ok(Reading::Unused(_)) => Outcome::Unused,
            Err(RejectReason::Unreadable) => return Err(Outcome::Unreadable),
            Err(_) => Outcome::Unusable,
        };
        let event_key = format!("asked:{}:{}", question.reference, envelope.hash);
        let envelope = Envelope {
            event_key,
            provider_reference: Some(question.reference.to_owned()),
            job_hint: Some(question.job),
            ..envelope
        };
        Ok(Answer { envelope, outcome })
    }
}

fn standing(fact: &Fact) -> Outcome {
    match fact.verdict {
        Verdict::Running => Outcome::Running,
        Verdict::Succeeded { .. }
        | Verdict::Corrected { .. }
        | Verdict::Failed { .. }
        | Verdict::Cancelled { .. } => Outcome::Ended,
    }
}

fn names_nothing(about: &Address) -> bool {
    about.job.is_none() && about.provider_reference.is_none()
}

/// A text as one part of a path. Dots alone would climb, however they are written.
fn path_part(text: &str) -> Option<String> {
    if matches!(text, "" | "." | "..") {
        return None;
    }
    let mut part = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6";
    const OTHER: &str = "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e7";

    fn ask(adapter: Adapter, body: &str) -> Result<Answer, Outcome> {
        let question = Question {
            reference: "task-77",
            job: JOB.parse().unwrap(),
        };
        adapter.answer(question, body.as_bytes())
    }

    fn generic(kind: &str, data: &str) -> String {
        format!(r#"{{"type":"{kind}","occurred_at":"2026-09-21T14:13:03.911Z","data":{{{data}}}}}"#)
    }

    fn prediction(id: &str, status: &str, metrics: &str) -> String {
        format!(
            r#"{{"id":"{id}","status":"{status}","created_at":"2026-09-21T14:12:58.101Z","metrics":{metrics}}}"#
        )
    }

    #[test]
    fn a_reference_stays_one_part_of_the_path() {
        let path = |reference| Adapter::Replicate.question(reference);
        assert_eq!(path("m4q8").as_deref(), Some("/v1/predictions/m4q8"));
        assert_eq!(
            Adapter::Generic.question("a/../b?c#d é").as_deref(),
            Some("/jobs/a%2F..%2Fb%3Fc%23d%20%C3%A9")
        );
        for climbing in ["", ".", ".."] {
            assert_eq!(path(climbing), None);
        }
    }

    #[test]
    fn an_answer_is_the_webhook_under_a_key_of_its_own() {
        let used = r#""provider_reference":"task-77","usage":{"images":"2"}"#;
        let body = generic("job.succeeded", used);
        let answer = ask(Adapter::Generic, &body).unwrap();
        assert_eq!(answer.outcome, Outcome::Ended);
        let sent = Incoming {
            delivery_id: Some("msg_1"),
            job_parameter: None,
            body: &body,
        };
        let sent = Adapter::Generic.envelope(&sent).unwrap();
        assert_eq!(answer.envelope.hash, sent.hash);
        let key = format!("asked:task-77:{}", sent.hash);
        assert_eq!(answer.envelope.event_key, key);
        assert_eq!(answer.envelope.job_hint, JOB.parse().ok());
        // Written otherwise, it is the same answer; with other usage it is another.
        let again = ask(
            Adapter::Generic,
            &body.replace(':', ": ").replace("T14: 13: 03", "T14:13:03"),
        )
        .unwrap();
        assert_eq!(again.envelope.event_key, key);
        let more = ask(Adapter::Generic, &body.replace(r#""2""#, r#""3""#)).unwrap();
        assert_ne!(more.envelope.event_key, key);
    }

    #[test]
    fn what_an_answer_says_is_told_apart() {
        let outcome = |adapter, body: &str| {
            ask(adapter, body).map_or_else(|outcome| outcome, |answer| answer.outcome)
        };
        let of = r#""provider_reference":"task-77""#;
        for (kind, data, expected) in [
            ("job.started", of.to_owned(), Outcome::Running),
            ("job.failed", of.to_owned(), Outcome::Ended),
            ("job.cancelled", of.to_owned(), Outcome::Ended),
            ("job.failed", format!(r#""job_id":"{JOB}""#), Outcome::Ended),
            (
                "job.failed",
                format!(r#"{of},"job_id":"{OTHER}""#),
                Outcome::OtherJob,
            ),
            (
                "job.failed",
                r#""provider_reference":"task-78""#.to_owned(),
                Outcome::OtherJob,
            ),
            ("job.succeeded", of.to_owned(), Outcome::Unusable),
            ("job.moved", of.to_owned(), Outcome::Unused),
        ] {
            let body = generic(kind, &data);
            assert_eq!(outcome(Adapter::Generic, &body), expected, "{body}");
        }
        for (id, status, metrics, expected) in [
            ("task-77", "processing", "null", Outcome::Running),
            (
                "task-77",
                "succeeded",
                r#"{"predict_time":1.5}"#,
                Outcome::Ended,
            ),
            (
                "task-77",
                "succeeded",
                r#"{"predict_time":-1}"#,
                Outcome::Unusable,
            ),
            ("task-77", "paused", "null", Outcome::Unused),
            (
                "task-78",
                "succeeded",
                r#"{"predict_time":1.5}"#,
                Outcome::OtherJob,
            ),
            ("task-78", "succeeded", "{}", Outcome::OtherJob),
            ("task-78", "paused", "null", Outcome::OtherJob),
        ] {
            let body = prediction(id, status, metrics);
            assert_eq!(outcome(Adapter::Replicate, &body), expected, "{body}");
        }
        for adapter in Adapter::ALL {
            assert_eq!(outcome(*adapter, "<html>"), Outcome::NotJson);
            assert_eq!(outcome(*adapter, ""), Outcome::NotJson);
            assert_eq!(outcome(*adapter, "[]"), Outcome::Unreadable);
            assert_eq!(
                outcome(*adapter, r#"{"detail":"busy"}"#),
                Outcome::Unreadable
            );
        }
        let nobody = generic("job.failed", "");
        assert_eq!(outcome(Adapter::Generic, &nobody), Outcome::OtherJob);
    }
}
