//! Bodies as the two providers write them.

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::{json, value::RawValue};

use super::{
    cast::{MODELS, Sender},
    plan::{Event, Plan, Quantities, Word},
};

/// What a body is made for, beside its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting<'a> {
    /// The provider's id of the job.
    pub(super) reference: &'a str,
    /// Our id, where it is told.
    pub(super) job: Option<&'a str>,
    /// When the work began.
    pub(super) began: DateTime<Utc>,
    /// Where the webhook goes; Replicate repeats it.
    pub(super) url: &'a str,
    /// How much longer lives are than planned.
    pub(super) stretch: u32,
}

impl Setting<'_> {
    fn at(&self, ms: u32) -> DateTime<Utc> {
        self.began + TimeDelta::milliseconds(i64::from(ms) * i64::from(self.stretch))
    }
}

/// Writes the body of an event. `usage` stands for the one of the event, so that a contradiction is
/// written by the same hand; `attempt` shows in what moves no money, as with real senders.
///
/// # Errors
/// When a quantity is no number, which the plan's tests exclude.
pub(super) fn body(
    plan: &Plan,
    event: &Event,
    usage: Option<&Quantities>,
    setting: &Setting<'_>,
    attempt: usize,
) -> Result<Vec<u8>, serde_json::Error> {
    let sender = if event.stray {
        Sender::AcmeTest
    } else {
        plan.sender
    };
    match sender {
        Sender::Replicate => prediction(plan, event, usage, setting, attempt),
        Sender::Acme | Sender::AcmeTest => generic(plan, event, usage, setting),
    }
}

#[derive(Serialize)]
struct Metrics<'a>(#[serde(serialize_with = "as_map")] Vec<(&'a str, Box<RawValue>)>);

fn as_map<S: serde::Serializer>(
    metrics: &[(&str, Box<RawValue>)],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_map(metrics.iter().map(|(name, number)| (name, number)))
}

/// Replicate's prediction object: what happened is its status, usage are JSON numbers.
fn prediction(
    plan: &Plan,
    event: &Event,
    usage: Option<&Quantities>,
    setting: &Setting<'_>,
    attempt: usize,
) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Prediction<'a> {
        id: &'a str,
        model: String,
        version: &'static str,
        input: serde_json::Value,
        output: Option<[String; 1]>,
        logs: String,
        error: Option<&'static str>,
        data_removed: bool,
        source: &'static str,
        status: &'static str,
        created_at: String,
        started_at: Option<String>,
        completed_at: Option<String>,
        metrics: Metrics<'a>,
        webhook: &'a str,
        webhook_events_filter: [&'static str; 2],
    }
    let told = |ms| setting.at(ms).to_rfc3339_opts(SecondsFormat::Micros, true);
    let status = match event.word {
        Word::Starting => "starting",
        Word::Processing => "processing",
        Word::Succeeded | Word::PartlyDone | Word::Corrected => "succeeded",
        Word::Failed => "failed",
        Word::Cancelled => "canceled",
        Word::Unheard => "queued_for_review",
    };
    let ended = !matches!(
        event.word,
        Word::Starting | Word::Processing | Word::Unheard
    );
    let mut metrics = Vec::new();
    for (meter, quantity) in usage.into_iter().flatten() {
        metrics.push((metric(meter), RawValue::from_string(quantity.clone())?));
    }
    if usage.is_some() {
        let seconds = Decimal::new(i64::from(event.occurs_ms) * i64::from(setting.stretch), 3);
        metrics.push(("total_time", RawValue::from_string(seconds.to_string())?));
    }
    serde_json::to_vec(&Prediction {
        id: setting.reference,
        model: format!("demo/{}", MODELS[plan.model].name),
        version: "hidden",
        input: json!({ "prompt": format!("scene {}, morning fog over the harbour", plan.index) }),
        output: usage.map(|_| {
            [format!(
                "https://replicate.delivery/demo/{}/out-0.webp",
                setting.reference
            )]
        }),
        logs: "step done\n".repeat(attempt),
        error: (event.word == Word::Failed).then_some("CUDA out of memory"),
        data_removed: false,
        source: "api",
        status,
        created_at: told(0),
        started_at: (event.word != Word::Starting).then(|| told(1)),
        completed_at: ended.then(|| told(event.occurs_ms)),
        metrics: Metrics(metrics),
        webhook: setting.url,
        webhook_events_filter: ["start", "completed"],
    })
}

/// Replicate's word for a meter.
fn metric(meter: &'static str) -> &'static str {
    match meter {
        "images" => "image_count",
        "predict_seconds" => "predict_time",
        "input_tokens" => "input_token_count",
        "output_tokens" => "output_token_count",
        other => other,
    }
}

/// The generic job event.
fn generic(
    plan: &Plan,
    event: &Event,
    usage: Option<&Quantities>,
    setting: &Setting<'_>,
) -> Result<Vec<u8>, serde_json::Error> {
    let kind = match event.word {
        Word::Starting | Word::Processing => "job.started",
        Word::Succeeded => "job.succeeded",
        Word::PartlyDone => "job.partially_completed",
        Word::Corrected => "job.usage_corrected",
        Word::Failed => "job.failed",
        Word::Cancelled => "job.cancelled",
        Word::Unheard => "job.moved_between_regions",
    };
    let mut data =
        json!({ "provider_reference": setting.reference, "model": MODELS[plan.model].name });
    if let Some(job) = setting.job {
        data["job_id"] = job.into();
    }
    if let Some(usage) = usage {
        data["usage"] = usage
            .iter()
            .map(|(meter, quantity)| ((*meter).to_owned(), json!(quantity)))
            .collect();
        if event.revision > 1 {
            data["revision"] = event.revision.into();
        }
    }
    match event.word {
        Word::Failed => data["error"] = "render node lost".into(),
        Word::Cancelled => data["error"] = "stopped on request".into(),
        _ => {}
    }
    let occurred_at = setting
        .at(event.occurs_ms)
        .to_rfc3339_opts(SecondsFormat::Millis, true);
    serde_json::to_vec(&json!({ "type": kind, "occurred_at": occurred_at, "data": data }))
}

#[cfg(test)]
mod tests {
    use domain::{
        adapter::{Adapter, Reading},
        fact::Verdict,
        usage::Usage,
    };

    use super::*;
    use crate::demo::{names, plan::tests::default_rates};

    fn read(event: &Event, sender: Sender, body: &[u8]) -> Reading {
        let generic = event.stray || sender != Sender::Replicate;
        let adapter = if generic {
            Adapter::Generic
        } else {
            Adapter::Replicate
        };
        adapter.fact(body).unwrap()
    }

    #[test]
    fn the_adapters_read_what_was_planned() {
        for index in 0..400 {
            let plan = Plan::draw(5, index, &default_rates());
            let reference = names::reference("test", index);
            let setting = Setting {
                reference: &reference,
                job: None,
                began: DateTime::UNIX_EPOCH,
                url: "http://127.0.0.1/webhooks/replicate",
                stretch: 1,
            };
            for event in &plan.events {
                let body =
                    |attempt| body(&plan, event, event.usage.as_ref(), &setting, attempt).unwrap();
                let (about, fact) = match read(event, plan.sender, &body(0)) {
                    Reading::Fact { about, fact } => (about, fact),
                    Reading::Unused(_) => {
                        assert_eq!(event.word, Word::Unheard);
                        continue;
                    }
                };
                assert_eq!(
                    about.provider_reference.as_deref(),
                    Some(reference.as_str())
                );
                let Reading::Fact { fact: again, .. } = read(event, plan.sender, &body(2)) else {
                    panic!("{event:?}")
                };
                assert_eq!(
                    again.hash, fact.hash,
                    "an attempt shows in nothing that moves money"
                );
                match (&fact.verdict, event.word) {
                    (Verdict::Running, Word::Starting | Word::Processing)
                    | (Verdict::Failed { .. }, Word::Failed)
                    | (Verdict::Cancelled { .. }, Word::Cancelled) => {}
                    (
                        Verdict::Succeeded { usage, .. } | Verdict::Corrected { usage, .. },
                        Word::Succeeded | Word::PartlyDone | Word::Corrected,
                    ) => {
                        let expected = match event.word {
                            Word::Corrected => Verdict::Corrected {
                                usage: usage.clone(),
                                revision: event.revision,
                            },
                            word => Verdict::Succeeded {
                                usage: usage.clone(),
                                partial: word == Word::PartlyDone,
                            },
                        };
                        assert_eq!(fact.verdict, expected);
                        let told = event.usage.as_ref().unwrap();
                        let told = Usage::<domain::usage::Validated>::parse(
                            told.iter().map(|(meter, text)| (*meter, text.as_str())),
                        )
                        .unwrap();
                        for (meter, quantity) in told.iter() {
                            assert_eq!(usage.quantity(meter), Some(quantity));
                        }
                    }
                    (verdict, word) => panic!("{word:?} was read as {verdict:?}"),
                }
            }
        }
    }
}
