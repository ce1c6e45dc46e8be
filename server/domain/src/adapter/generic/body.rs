//! The shape of the body, and the canonical form of what is billing-relevant in it.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    adapter::{self, Quantities, Unfit, hash_of},
    canonical::Hash,
    usage::{Usage, Validated},
};

pub(in crate::adapter) const SCHEMA: &str = "generic/1";

pub(in crate::adapter) const COVERS: &[&str] = &[
    "type",
    "occurred_at",
    "data.job_id",
    "data.provider_reference",
    "data.model",
    "data.revision",
    "data.usage",
];

/// The body, without looking into `data`: its shape depends on the type.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    occurred_at: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(super) struct Data<'a> {
    pub(super) job_id: Option<String>,
    pub(super) provider_reference: Option<String>,
    pub(super) model: Option<String>,
    pub(super) revision: Option<i32>,
    #[serde(borrow)]
    pub(super) usage: Option<Quantities<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

/// What the hash covers; strings only.
#[derive(Serialize)]
struct Canonical<'a> {
    schema: &'static str,
    #[serde(rename = "type")]
    kind: &'a str,
    occurred_at: Option<String>,
    job_id: Option<&'a str>,
    provider_reference: Option<&'a str>,
    model: Option<&'a str>,
    revision: String,
    usage: Option<BTreeMap<&'a str, String>>,
}

/// The types we use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Started,
    Succeeded,
    PartiallyCompleted,
    Failed,
    Cancelled,
    UsageCorrected,
}

impl Kind {
    pub(super) fn read(word: &str) -> Option<Self> {
        Some(match word {
            "job.started" => Self::Started,
            "job.succeeded" => Self::Succeeded,
            "job.partially_completed" => Self::PartiallyCompleted,
            "job.failed" => Self::Failed,
            "job.cancelled" => Self::Cancelled,
            "job.usage_corrected" => Self::UsageCorrected,
            _ => return None,
        })
    }
}

/// A body of the documented shape.
pub(super) struct Event<'a> {
    pub(super) body_id: Option<String>,
    pub(super) word: String,
    pub(super) kind: Option<Kind>,
    pub(super) occurred_at: Option<String>,
    pub(super) data: Data<'a>,
}

/// Reads the shape, not the sense. `data` of a type we do not use may be anything.
pub(super) fn read(body: &str) -> Result<Event<'_>, Unfit> {
    let Body {
        id,
        kind,
        occurred_at,
        data,
    } = serde_json::from_str(body).map_err(|_| Unfit)?;
    let word = adapter::name(&kind).ok_or(Unfit)?.to_owned();
    let kind = Kind::read(&word);
    let data: Data<'_> = match (kind, data) {
        (Some(_), Some(data)) => serde_json::from_str(data.get()).map_err(|_| Unfit)?,
        (Some(_), None) => return Err(Unfit),
        (None, _) => Data::default(),
    };
    let names = [&data.job_id, &data.provider_reference, &data.model];
    if names
        .into_iter()
        .flatten()
        .any(|text| adapter::name(text).is_none())
    {
        return Err(Unfit);
    }
    let body_id = id.and_then(adapter::text_of).map(Cow::into_owned);
    Ok(Event {
        body_id,
        word,
        kind,
        occurred_at,
        data,
    })
}

impl Event<'_> {
    pub(super) fn hash(&self, body: &str) -> Hash {
        let time = |text: &String| {
            adapter::time(text).map_or_else(|| text.clone(), |time| time.to_rfc3339())
        };
        let canonical = Canonical {
            schema: SCHEMA,
            kind: &self.word,
            occurred_at: self.occurred_at.as_ref().map(time),
            job_id: self.data.job_id.as_deref(),
            provider_reference: self.data.provider_reference.as_deref(),
            model: self.data.model.as_deref(),
            revision: self.data.revision.unwrap_or(1).to_string(),
            usage: self.data.usage.as_ref().map(canonical_usage),
        };
        hash_of(&canonical, body)
    }
}

fn canonical_usage<'a>(usage: &'a Quantities<'_>) -> BTreeMap<&'a str, String> {
    usage
        .0
        .iter()
        .map(|(meter, raw)| (meter.as_str(), canonical_quantity(meter, raw)))
        .collect()
}

/// The same quantity reads the same however it is written; what is no quantity stays apart from
/// everything that is one.
fn canonical_quantity(meter: &str, raw: &RawValue) -> String {
    let Some(text) = adapter::text_of(raw) else {
        return not_text(raw);
    };
    let usage = Usage::<Validated>::parse([(meter, &*text)]).ok();
    let written = usage.as_ref().and_then(|usage| {
        usage
            .iter()
            .next()
            .map(|(_, quantity)| quantity.to_string())
    });
    written.unwrap_or_else(|| format!("text {text}"))
}

/// A number by its own digits, anything else by the hash of its canonical form.
fn not_text(raw: &RawValue) -> String {
    if raw
        .get()
        .starts_with(|c: char| c == '-' || c.is_ascii_digit())
    {
        return format!("number {}", raw.get());
    }
    let value = serde_json::from_str::<serde_json::Value>(raw.get()).ok();
    format!(
        "json {}",
        value.map_or_else(
            || Hash::of_bytes(raw.get().as_bytes()),
            |value| hash_of(&value, raw.get())
        )
    )
}
