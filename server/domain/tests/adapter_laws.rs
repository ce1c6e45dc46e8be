//! Laws of the canonical hash: it does not depend on how a body is written, and it depends on every
//! field an adapter declares.

use domain::adapter::{Adapter, Incoming};
use domain::canonical::Hash;
use proptest::prelude::*;
use serde_json::{Value, json};

fn hash(adapter: Adapter, body: &str) -> Hash {
    let incoming = Incoming {
        delivery_id: Some("msg_1"),
        job_parameter: None,
        body,
    };
    adapter.envelope(&incoming).unwrap().hash
}

/// Decides, from a seed, each choice a serialiser is free to make.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn space(&mut self, out: &mut String) {
        out.push_str(["", " ", "\n\t", "  \r\n"][self.below(4)]);
    }
}

/// Writes a value in one of the many ways that mean the same: member order, white space, escapes.
fn write(value: &Value, choices: &mut Choices, out: &mut String) {
    choices.space(out);
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for at in (1..members.len()).rev() {
                members.swap(at, choices.below(at + 1));
            }
            out.push('{');
            for (at, (name, member)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                choices.space(out);
                write_text(name, choices, out);
                choices.space(out);
                out.push(':');
                write(member, choices, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, choices, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, choices, out),
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
    choices.space(out);
}

fn write_text(text: &str, choices: &mut Choices, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if c == '"' || c == '\\' || c.is_control() || choices.below(4) == 0 {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out.push('"');
}

fn rewritten(value: &Value, seed: u64) -> String {
    let mut out = String::new();
    write(value, &mut Choices(seed), &mut out);
    out
}

/// A name of printable characters, some of them outside ASCII and outside the basic plane.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            'a', 'Z', '7', '-', '/', '"', '\\', ' ', 'é', '世', '🜚',
        ]),
        1..12,
    )
    .prop_map(String::from_iter)
}

fn quantity() -> impl Strategy<Value = String> {
    (0_u32..5_000, 0_u32..1000).prop_map(|(whole, milli)| format!("{whole}.{milli:03}"))
}

fn generic() -> impl Strategy<Value = Value> {
    let types = vec![
        "job.started",
        "job.succeeded",
        "job.partially_completed",
        "job.failed",
        "job.usage_corrected",
    ];
    (prop::sample::select(types), 0_u32..60, text(), text(), 1_i32..9, quantity(), quantity(), text()).prop_map(
        |(kind, second, reference, model, revision, images, seconds, error)| {
            json!({
                "id": "evt_1", "type": kind, "occurred_at": format!("2026-09-21T14:13:{second:02}.911Z"),
                "attempt": second,
                "data": {
                    "job_id": "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6", "provider_reference": reference, "model": model,
                    "revision": revision, "usage": {"images": images, "gpu_seconds": seconds},
                    "error": error, "logs": ["x", {"y": null}],
                },
            })
        },
    )
}

/// Numbers are written apart from the value, because the test must not print a float either.
fn replicate() -> impl Strategy<Value = Value> {
    (text(), text(), 0_u32..60, 0_u32..9, text()).prop_map(|(id, model, second, images, logs)| {
        json!({
            "id": id, "model": model, "version": "hidden", "status": "succeeded", "logs": logs, "error": null,
            "completed_at": format!("2026-09-21T14:13:{second:02}.911Z"), "input": {"seed": 7},
            "metrics": {"image_count": images, "input_token_count": second},
        })
    })
}

/// Every change of one declared field.
fn changes(adapter: Adapter) -> Vec<(&'static str, &'static str, Value)> {
    match adapter {
        Adapter::Generic => vec![
            ("type", "/type", json!("job.cancelled")),
            ("occurred_at", "/occurred_at", json!("2026-09-21T14:14:00Z")),
            (
                "data.job_id",
                "/data/job_id",
                json!("job_0190c5c2a3b47c1e8f00d2a1b3c4d5e7"),
            ),
            (
                "data.provider_reference",
                "/data/provider_reference",
                json!("another reference"),
            ),
            ("data.model", "/data/model", json!("another model name")),
            ("data.revision", "/data/revision", json!(77)),
            ("data.usage", "/data/usage/images", json!("9999")),
            ("data.usage", "/data/usage", json!({"images": "1"})),
        ],
        Adapter::Replicate => vec![
            ("id", "/id", json!("another prediction")),
            ("status", "/status", json!("failed")),
            ("model", "/model", json!("another/model name")),
            ("version", "/version", json!("5c7d")),
            (
                "occurred_at",
                "/completed_at",
                json!("2026-09-21T14:14:00Z"),
            ),
            ("metrics", "/metrics/image_count", json!(77)),
            ("metrics", "/metrics", json!({})),
        ],
    }
}

fn check(adapter: Adapter, body: &Value, seeds: (u64, u64)) -> Result<(), TestCaseError> {
    let (one, other) = (rewritten(body, seeds.0), rewritten(body, seeds.1));
    prop_assert_eq!(
        hash(adapter, &one),
        hash(adapter, &other),
        "{}\n{}",
        one,
        other
    );
    for (field, pointer, value) in changes(adapter) {
        let mut changed = body.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        prop_assert_ne!(
            hash(adapter, &rewritten(&changed, seeds.0)),
            hash(adapter, &one),
            "{} is covered",
            field
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_generic_event_hashes_by_its_content(body in generic(), one: u64, other: u64) {
        check(Adapter::Generic, &body, (one, other))?;
    }

    #[test]
    fn a_prediction_hashes_by_its_content(body in replicate(), one: u64, other: u64) {
        check(Adapter::Replicate, &body, (one, other))?;
    }

    /// Whatever the body, reading it neither panics nor disagrees with itself.
    #[test]
    fn any_json_is_read_or_refused(body in ".{0,200}") {
        for adapter in Adapter::ALL {
            let incoming = Incoming { delivery_id: Some("msg_1"), job_parameter: Some(&body), body: &body };
            let envelope = adapter.envelope(&incoming).unwrap();
            if let Ok(domain::adapter::Reading::Fact { fact, .. }) = adapter.fact(body.as_bytes()) {
                prop_assert_eq!(fact.hash, envelope.hash);
            }
        }
    }
}

#[test]
fn each_declared_field_has_a_change_that_is_noticed() {
    for adapter in Adapter::ALL {
        let mut tried: Vec<_> = changes(*adapter)
            .into_iter()
            .map(|(field, ..)| field)
            .collect();
        tried.dedup();
        assert_eq!(tried, adapter.covers());
    }
}
