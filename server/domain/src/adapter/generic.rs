//! Our own job event, for gateways and providers that can be told what to send.
//!
//! ```json
//! {
//!   "id": "evt_81f2",
//!   "type": "job.succeeded",
//!   "occurred_at": "2026-09-21T14:13:03.911Z",
//!   "data": {
//!     "job_id": "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6",
//!     "provider_reference": "task-77",
//!     "model": "img-large-2",
//!     "usage": {"images": "2", "gpu_seconds": "12.40"}
//!   }
//! }
//! ```
//!
//! | member | |
//! |---|---|
//! | `id` | Event id; needed only when the request has no `webhook-id` header. A retry repeats it. |
//! | `type` | `job.started`, `job.succeeded`, `job.partially_completed`, `job.failed`, `job.cancelled`, `job.usage_corrected`. Others are stored and ignored. |
//! | `occurred_at` | RFC 3339, when it happened (not when it was sent). |
//! | `data.job_id`, `data.provider_reference` | At least one names the job. The job may also be given in the URL as `?job=job_…`. |
//! | `data.model` | Optional; when given it must be the job's. |
//! | `data.usage` | Quantity by meter, each a decimal **string**; needed for success, partial completion and correction. |
//! | `data.revision` | Of the usage: a correction names 2 or higher; a completion is 1 and need not say so. |
//! | `data.error` | Words shown to people for failure and cancellation. |

mod body;

use serde::Deserialize;

use super::{Envelope, EnvelopeError, Incoming, Reading, Unfit, event_key, hint};
use crate::{
    event::RejectReason,
    fact::{Address, Fact, Verdict},
    id::JobId,
    usage::{Usage, Validated},
};

pub(super) use body::{COVERS, SCHEMA};
use body::{Data, Kind, read};

pub(super) fn envelope(incoming: &Incoming<'_>) -> Result<Envelope, EnvelopeError> {
    let Ok(event) = read(incoming.body) else {
        return super::unreadable(incoming, body_id(incoming.body).as_deref());
    };
    Ok(Envelope {
        event_key: event_key(incoming, event.body_id.as_deref())?,
        hash: event.hash(incoming.body),
        kind: event.word,
        job_hint: event
            .data
            .job_id
            .as_deref()
            .and_then(|text| text.parse().ok())
            .or_else(|| hint(incoming)),
        provider_reference: event.data.provider_reference,
        occurred_at: event.occurred_at.as_deref().and_then(super::time),
    })
}

/// The id alone, from a body that is otherwise not of the documented shape.
fn body_id(body: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Id {
        id: String,
    }
    serde_json::from_str::<Id>(body).ok().map(|body| body.id)
}

pub(super) fn fact(body: &str) -> Result<Reading, RejectReason> {
    let event = read(body).map_err(|Unfit| RejectReason::Unreadable)?;
    let hash = event.hash(body);
    let Some(kind) = event.kind else {
        return Ok(Reading::Unused(event.word));
    };
    let occurred_at = event
        .occurred_at
        .as_deref()
        .and_then(super::time)
        .ok_or(RejectReason::Unreadable)?;
    let about = Address {
        job: event
            .data
            .job_id
            .as_deref()
            .map(str::parse::<JobId>)
            .transpose()
            .map_err(|_| RejectReason::Unreadable)?,
        provider_reference: event.data.provider_reference.clone(),
        model: event.data.model.clone(),
    };
    let verdict = verdict(kind, &event.data)?;
    Ok(Reading::Fact {
        about,
        fact: Fact {
            verdict,
            occurred_at,
            hash,
        },
    })
}

fn verdict(kind: Kind, data: &Data<'_>) -> Result<Verdict, RejectReason> {
    Ok(match (kind, data.revision) {
        (Kind::Started, _) => Verdict::Running,
        (Kind::Failed, _) => Verdict::Failed {
            reason: super::reason(data.error, "the provider reported a failure"),
        },
        (Kind::Cancelled, _) => Verdict::Cancelled {
            reason: super::reason(data.error, "the provider stopped it"),
        },
        (Kind::Succeeded | Kind::PartiallyCompleted, None | Some(1)) => Verdict::Succeeded {
            usage: usage(data)?,
            partial: kind == Kind::PartiallyCompleted,
        },
        (Kind::UsageCorrected, Some(revision @ 2..)) => Verdict::Corrected {
            usage: usage(data)?,
            revision,
        },
        // A correction without its number cannot be ordered among others, and a completion with one
        // cannot be told from a correction.
        (Kind::Succeeded | Kind::PartiallyCompleted | Kind::UsageCorrected, _) => {
            return Err(RejectReason::UsageInvalid);
        }
    })
}

/// Quantities are strings: a JSON number may have lost digits before it reached us.
fn usage(data: &Data<'_>) -> Result<Usage<Validated>, RejectReason> {
    let quantities = data.usage.as_ref().ok_or(RejectReason::UsageInvalid)?;
    let texts: Option<Vec<_>> = quantities
        .0
        .iter()
        .map(|(meter, raw)| Some((meter.as_str(), super::text_of(raw)?)))
        .collect();
    let texts = texts.ok_or(RejectReason::UsageInvalid)?;
    Usage::parse(texts.iter().map(|(meter, text)| (*meter, &**text)))
        .map_err(|_| RejectReason::UsageInvalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Adapter, tests::incoming};

    const SUCCESS: &str = r#"{"id":"evt_1","type":"job.succeeded","occurred_at":"2026-09-21T14:13:03.911Z",
        "data":{"job_id":"job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6","provider_reference":"task-77","model":"img",
        "usage":{"images":"2","gpu_seconds":"12.40"}}}"#;

    fn read_fact(body: &str) -> Result<(Address, Fact), RejectReason> {
        match Adapter::Generic.fact(body.as_bytes())? {
            Reading::Fact { about, fact } => Ok((about, fact)),
            Reading::Unused(kind) => panic!("unused {kind}"),
        }
    }

    #[test]
    fn a_success_is_read_whole() {
        let envelope = Adapter::Generic.envelope(&incoming(SUCCESS)).unwrap();
        assert_eq!(
            (&*envelope.event_key, &*envelope.kind),
            ("msg_1", "job.succeeded")
        );
        assert_eq!(envelope.provider_reference.as_deref(), Some("task-77"));
        let (about, fact) = read_fact(SUCCESS).unwrap();
        assert_eq!(about.job, envelope.job_hint);
        assert_eq!(about.model.as_deref(), Some("img"));
        assert_eq!(fact.hash, envelope.hash);
        assert_eq!(Some(fact.occurred_at), envelope.occurred_at);
        let usage = Usage::parse([("images", "2"), ("gpu_seconds", "12.4")]).unwrap();
        assert_eq!(
            fact.verdict,
            Verdict::Succeeded {
                usage,
                partial: false
            }
        );
    }

    #[test]
    fn the_body_id_serves_where_no_header_does() {
        let anonymous = Incoming {
            delivery_id: None,
            ..incoming(SUCCESS)
        };
        assert_eq!(
            Adapter::Generic.envelope(&anonymous).unwrap().event_key,
            "evt_1"
        );
        let numbered = SUCCESS.replace(r#""evt_1""#, "7");
        let anonymous = Incoming {
            delivery_id: None,
            ..incoming(&numbered)
        };
        assert_eq!(
            Adapter::Generic.envelope(&anonymous),
            Err(EnvelopeError::NoEventKey)
        );
        assert_eq!(
            Adapter::Generic
                .envelope(&incoming(&numbered))
                .unwrap()
                .event_key,
            "msg_1"
        );
    }

    #[test]
    fn every_type_has_its_verdict() {
        let with = |word: &str| {
            read_fact(&SUCCESS.replace("job.succeeded", word)).map(|(_, fact)| fact.verdict)
        };
        assert_eq!(with("job.started"), Ok(Verdict::Running));
        assert!(matches!(
            with("job.partially_completed"),
            Ok(Verdict::Succeeded { partial: true, .. })
        ));
        assert!(matches!(with("job.failed"), Ok(Verdict::Failed { .. })));
        assert!(matches!(
            with("job.cancelled"),
            Ok(Verdict::Cancelled { .. })
        ));
        assert_eq!(with("job.usage_corrected"), Err(RejectReason::UsageInvalid));
        let corrected = SUCCESS
            .replace("job.succeeded", "job.usage_corrected")
            .replace(r#""usage":"#, r#""revision":3,"usage":"#);
        assert!(matches!(
            read_fact(&corrected).unwrap().1.verdict,
            Verdict::Corrected { revision: 3, .. }
        ));
        let completed_twice = SUCCESS.replace(r#""usage":"#, r#""revision":2,"usage":"#);
        assert_eq!(
            read_fact(&completed_twice).err(),
            Some(RejectReason::UsageInvalid),
            "a completion is the first report"
        );
        let unused = Adapter::Generic.fact(br#"{"type":"model.retired","data":[1]}"#);
        assert_eq!(unused, Ok(Reading::Unused("model.retired".into())));
    }

    #[test]
    fn quantities_are_strings_and_nothing_else() {
        for bad in [
            "2",
            "2.5",
            "-0",
            "true",
            "null",
            "[]",
            "{}",
            r#""two""#,
            r#""-1""#,
            r#""1e999""#,
            r#""""#,
        ] {
            let body = SUCCESS.replace(r#""2""#, bad);
            assert_eq!(
                read_fact(&body).err(),
                Some(RejectReason::UsageInvalid),
                "{bad}"
            );
            let hash = |body: &str| Adapter::Generic.envelope(&incoming(body)).unwrap().hash;
            assert_ne!(
                hash(&body),
                hash(SUCCESS),
                "{bad}: not taken for the good one"
            );
        }
        for usage in ["{}", "null"] {
            let body = SUCCESS.replace(r#"{"images":"2","gpu_seconds":"12.40"}"#, usage);
            assert_eq!(read_fact(&body).err(), Some(RejectReason::UsageInvalid));
        }
    }

    #[test]
    fn what_is_repeated_or_malformed_is_unreadable() {
        for (from, to) in [
            (r#""images":"2""#, r#""images":"2","images":"3""#),
            (r#""usage""#, r#""model":"b","usage""#),
            ("job_0190", "0190"),
            ("task-77", "task\\u000077"),
            ("2026-09-21T14:13:03.911Z", "yesterday"),
            (r#""occurred_at""#, r#""happened_at""#),
        ] {
            let body = SUCCESS.replace(from, to);
            assert_ne!(body, SUCCESS);
            assert_eq!(
                read_fact(&body).err(),
                Some(RejectReason::Unreadable),
                "{to}"
            );
            assert_eq!(
                Adapter::Generic
                    .envelope(&incoming(&body))
                    .unwrap()
                    .event_key,
                "msg_1",
                "{to}"
            );
        }
    }
}
