//! Replicate's webhooks: the prediction object at top level, with no event name.
//!
//! What happened is the `status`. Usage is in `metrics`, as JSON numbers whose digits are taken as
//! written. Logs, output and input change between attempts, or are large; none of them moves money, so
//! none is read. The model name is Replicate's own (`owner/name`), not that of our price list, so it is
//! part of the hash but not compared with the job's.

use std::{borrow::Cow, collections::BTreeMap};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Envelope, EnvelopeError, Incoming, Quantities, Reading, Unfit, event_key, hash_of, hint,
};
use crate::{
    canonical::Hash,
    event::RejectReason,
    fact::{Address, Fact, Verdict},
    usage::{Meter, Usage, Validated},
};

pub(super) const SCHEMA: &str = "replicate/1";

pub(super) const COVERS: &[&str] = &["id", "status", "model", "version", "occurred_at", "metrics"];

/// Metrics with a unit in our terms. These must be good numbers; a metric of the model's own that is
/// no quantity is left out, and a price that needs it then finds the usage unpriceable.
const METERS: &[(&str, &str)] = &[
    ("predict_time", "predict_seconds"),
    ("total_time", "total_seconds"),
    ("image_count", "images"),
    ("input_token_count", "input_tokens"),
    ("output_token_count", "output_tokens"),
];

/// Rates and latencies describe the run; they are no quantities.
const NOT_COUNTED: &[&str] = &["tokens_per_second", "time_to_first_token"];

#[derive(Deserialize)]
struct Prediction<'a> {
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    model: Option<String>,
    version: Option<String>,
    created_at: Option<String>,
    started_at: Option<String>,
    completed_at: Option<String>,
    #[serde(borrow)]
    metrics: Option<Quantities<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// What the hash covers; strings only.
#[derive(Serialize)]
struct Canonical<'a> {
    schema: &'static str,
    id: &'a str,
    status: &'a str,
    model: Option<&'a str>,
    version: Option<&'a str>,
    occurred_at: Option<String>,
    metrics: BTreeMap<Cow<'a, str>, String>,
}

fn read(body: &str) -> Result<Prediction<'_>, Unfit> {
    let prediction: Prediction<'_> = serde_json::from_str(body).map_err(|_| Unfit)?;
    let named = super::name(&prediction.id).is_some() && super::name(&prediction.status).is_some();
    named.then_some(prediction).ok_or(Unfit)
}

impl Prediction<'_> {
    /// The instant of the status: the latest of the three times that is set.
    fn occurred_at(&self) -> Option<DateTime<Utc>> {
        [&self.completed_at, &self.started_at, &self.created_at]
            .into_iter()
            .flatten()
            .next()
            .and_then(|text| super::time(text))
    }

    /// Metrics that count something, by our meter, with their digits as written.
    fn counted(&self) -> impl Iterator<Item = (&str, &RawValue, bool)> {
        self.metrics
            .iter()
            .flat_map(|metrics| &metrics.0)
            .filter_map(|(name, raw)| {
                if NOT_COUNTED.contains(&name.as_str()) {
                    return None;
                }
                let known = METERS.iter().find(|(metric, _)| metric == name);
                Some((
                    known.map_or(name.as_str(), |(_, meter)| meter),
                    *raw,
                    known.is_some(),
                ))
            })
    }

    fn hash(&self, body: &str) -> Hash {
        let quantity = |meter: &str, raw: &RawValue| {
            let usage = Usage::<Validated>::parse([(meter, raw.get())]).ok();
            usage.and_then(|usage| {
                usage
                    .iter()
                    .next()
                    .map(|(_, quantity)| quantity.to_string())
            })
        };
        let metrics = self
            .counted()
            .filter_map(|(meter, raw, known)| match quantity(meter, raw) {
                Some(quantity) => Some((Cow::Borrowed(meter), quantity)),
                None if known => Some((Cow::Borrowed(meter), format!("json {}", raw.get()))),
                None => None,
            });
        let canonical = Canonical {
            schema: SCHEMA,
            id: &self.id,
            status: &self.status,
            model: self.model.as_deref(),
            version: self.version.as_deref(),
            occurred_at: self.occurred_at().map(|time| time.to_rfc3339()),
            metrics: metrics.collect(),
        };
        hash_of(&canonical, body)
    }

    fn usage(&self) -> Result<Usage<Validated>, RejectReason> {
        let usable = self.counted().filter(|(meter, raw, known)| {
            *known
                || (meter.parse::<Meter>().is_ok()
                    && Usage::<Validated>::parse([(*meter, raw.get())]).is_ok())
        });
        let quantities: Vec<_> = usable.map(|(meter, raw, _)| (meter, raw.get())).collect();
        let mut meters: Vec<_> = quantities.iter().map(|(meter, _)| *meter).collect();
        meters.sort_unstable();
        if meters.windows(2).any(|pair| pair[0] == pair[1]) {
            // `image_count` beside a model's own `images`: which one to bill is not ours to guess.
            return Err(RejectReason::UsageInvalid);
        }
        Usage::parse(quantities).map_err(|_| RejectReason::UsageInvalid)
    }
}

pub(super) fn envelope(incoming: &Incoming<'_>) -> Result<Envelope, EnvelopeError> {
    let Ok(prediction) = read(incoming.body) else {
        return super::unreadable(incoming, None);
    };
    // Without a webhook id the prediction and its status are the event; repeats of `processing` with
    // other output are then one event, which is all they mean to the books.
    let derived = format!("{}:{}", prediction.id, prediction.status);
    Ok(Envelope {
        event_key: event_key(incoming, Some(&derived))?,
        kind: prediction.status.to_string(),
        hash: prediction.hash(incoming.body),
        provider_reference: Some(prediction.id.to_string()),
        job_hint: hint(incoming),
        occurred_at: prediction.occurred_at(),
    })
}

pub(super) fn fact(body: &str) -> Result<Reading, RejectReason> {
    let prediction = read(body).map_err(|Unfit| RejectReason::Unreadable)?;
    let because = |otherwise| super::reason(prediction.error, otherwise);
    let verdict = match &*prediction.status {
        "starting" | "processing" => Verdict::Running,
        "succeeded" => Verdict::Succeeded {
            usage: prediction.usage()?,
            partial: false,
        },
        "failed" => Verdict::Failed {
            reason: because("the prediction failed"),
        },
        "canceled" => Verdict::Cancelled {
            reason: because("the prediction was canceled"),
        },
        "aborted" => Verdict::Cancelled {
            reason: because("the deadline passed before the prediction started"),
        },
        other => return Ok(Reading::Unused(other.to_owned())),
    };
    let occurred_at = prediction.occurred_at().ok_or(RejectReason::Unreadable)?;
    let about = Address {
        job: None,
        provider_reference: Some(prediction.id.to_string()),
        model: None,
    };
    Ok(Reading::Fact {
        about,
        fact: Fact {
            verdict,
            occurred_at,
            hash: prediction.hash(body),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Adapter, tests::incoming};

    const SUCCESS: &str = r#"{"id":"m4q8zt1c5hrm80cpw3kv9xn2ja","model":"acme/flux-tiny","version":"hidden",
        "input":{"prompt":"fog"},"output":["https://replicate.delivery/x/out-0.webp"],"logs":"","error":null,
        "data_removed":false,"source":"api","status":"succeeded","created_at":"2026-09-21T14:12:58.101Z",
        "started_at":"2026-09-21T14:13:01.554207841Z","completed_at":"2026-09-21T14:13:03.911Z",
        "metrics":{"predict_time":2.356711,"total_time":5.810233,"image_count":1,"tokens_per_second":9.1e1},
        "webhook":"https://rx.test/r?job=9","webhook_events_filter":["completed"]}"#;

    fn read_fact(body: &str) -> Result<Fact, RejectReason> {
        match Adapter::Replicate.fact(body.as_bytes())? {
            Reading::Fact { about, fact } => {
                assert_eq!(
                    about.provider_reference.as_deref(),
                    Some("m4q8zt1c5hrm80cpw3kv9xn2ja")
                );
                Ok(fact)
            }
            Reading::Unused(kind) => panic!("unused {kind}"),
        }
    }

    fn hash(body: &str) -> Hash {
        Adapter::Replicate.envelope(&incoming(body)).unwrap().hash
    }

    #[test]
    fn a_success_is_read_with_its_digits() {
        let job = "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6";
        let envelope = Adapter::Replicate
            .envelope(&Incoming {
                job_parameter: Some(job),
                ..incoming(SUCCESS)
            })
            .unwrap();
        assert_eq!(
            (&*envelope.event_key, &*envelope.kind),
            ("msg_1", "succeeded")
        );
        assert_eq!(envelope.job_hint, job.parse().ok());
        let fact = read_fact(SUCCESS).unwrap();
        assert_eq!(fact.hash, envelope.hash);
        let Verdict::Succeeded { usage, .. } = fact.verdict else {
            panic!("not a success")
        };
        insta::assert_snapshot!(serde_json::to_string(&usage).unwrap(),
            @r#"{"images":"1","predict_seconds":"2.356711","total_seconds":"5.810233"}"#);
        let long = SUCCESS.replace("2.356711", "5.247161016000000001");
        let Verdict::Succeeded { usage, .. } = read_fact(&long).unwrap().verdict else {
            panic!("not a success")
        };
        assert!(
            serde_json::to_string(&usage)
                .unwrap()
                .contains("5.247161016000000001")
        );
    }

    #[test]
    fn an_unsigned_sender_is_keyed_by_prediction_and_status() {
        let anonymous = Incoming {
            delivery_id: None,
            ..incoming(SUCCESS)
        };
        let key = Adapter::Replicate.envelope(&anonymous).unwrap().event_key;
        assert_eq!(key, "m4q8zt1c5hrm80cpw3kv9xn2ja:succeeded");
    }

    #[test]
    fn every_status_has_its_verdict() {
        let with = |status: &str| {
            read_fact(&SUCCESS.replace("succeeded", status)).map(|fact| fact.verdict)
        };
        assert_eq!(with("starting"), Ok(Verdict::Running));
        assert_eq!(with("processing"), Ok(Verdict::Running));
        for stopped in ["canceled", "aborted"] {
            assert!(matches!(with(stopped), Ok(Verdict::Cancelled { .. })));
        }
        let failed = SUCCESS
            .replace("succeeded", "failed")
            .replace(r#""error":null"#, r#""error":"CUDA out of memory""#);
        assert_eq!(
            read_fact(&failed).unwrap().verdict,
            Verdict::Failed {
                reason: "CUDA out of memory".into()
            }
        );
        let unused = Adapter::Replicate.fact(SUCCESS.replace("succeeded", "paused").as_bytes());
        assert_eq!(unused, Ok(Reading::Unused("paused".into())));
    }

    #[test]
    fn the_instant_is_that_of_the_status() {
        let at = |body: &str| read_fact(body).unwrap().occurred_at.to_rfc3339();
        assert_eq!(at(SUCCESS), "2026-09-21T14:13:03.911+00:00");
        let running = SUCCESS
            .replace("succeeded", "processing")
            .replace(r#""2026-09-21T14:13:03.911Z""#, "null");
        assert_eq!(at(&running), "2026-09-21T14:13:01.554207+00:00");
    }

    #[test]
    fn what_moves_no_money_is_not_hashed_and_what_does_is() {
        for (from, to) in [
            (r#""logs":"""#, r#""logs":"step 1""#),
            ("out-0.webp", "out-1.webp"),
            (r#""prompt":"fog""#, r#""prompt":"mist""#),
            ("9.1e1", "88"),
            ("2.356711", "2.3567110"),
            (
                r#""webhook_events_filter":["completed"]"#,
                r#""urls":{"get":"x"}"#,
            ),
        ] {
            let other = SUCCESS.replace(from, to);
            assert_ne!(other, SUCCESS);
            assert_eq!(hash(&other), hash(SUCCESS), "{to}");
        }
        for (from, to) in [
            ("2.356711", "2.356712"),
            ("2.356711", r#""2.356711""#),
            ("succeeded", "failed"),
            ("m4q8", "m4q9"),
            ("acme/", "other/"),
            ("hidden", "5c7d"),
            ("03.911Z", "03.912Z"),
            (r#""image_count":1"#, r#""image_count":2"#),
            (r#""image_count":1,"#, ""),
            (r#""image_count":1"#, r#""image_count":1,"frames":9"#),
        ] {
            assert_ne!(hash(&SUCCESS.replace(from, to)), hash(SUCCESS), "{to}");
        }
    }

    #[test]
    fn bad_metrics_are_invalid_usage() {
        for (from, to) in [
            ("2.356711", "-1"),
            ("2.356711", r#""2.356711""#),
            ("2.356711", "null"),
            ("2.356711", "1e999"),
            (r#""image_count":1"#, r#""image_count":1,"images":2"#),
        ] {
            assert_eq!(
                read_fact(&SUCCESS.replace(from, to)).err(),
                Some(RejectReason::UsageInvalid),
                "{to}"
            );
        }
        let start = SUCCESS.find(r#"{"predict_time""#).unwrap();
        let end = SUCCESS[start..].find('}').unwrap() + start + 1;
        for metrics in ["{}", "null"] {
            let body = [&SUCCESS[..start], metrics, &SUCCESS[end..]].concat();
            assert_eq!(read_fact(&body).err(), Some(RejectReason::UsageInvalid));
        }
        let own = SUCCESS.replace(
            r#""image_count":1"#,
            r#""frames":24,"Mode":"x","detail":{"a":1}"#,
        );
        let Verdict::Succeeded { usage, .. } = read_fact(&own).unwrap().verdict else {
            panic!("not a success")
        };
        assert!(
            serde_json::to_string(&usage)
                .unwrap()
                .contains(r#""frames":"24""#)
        );
        let repeated = SUCCESS.replace(r#""image_count":1"#, r#""image_count":1,"image_count":2"#);
        assert_eq!(read_fact(&repeated).err(), Some(RejectReason::Unreadable));
    }
}
