//! What goes over the wire. Decimals are strings; ids carry their prefix; times are RFC 3339 in UTC.

use std::fmt;

use chrono::{DateTime, Utc};
use domain::{
    money::{Amount, decimal_text},
    usage::{Estimated, Usage},
};
use engine::{job::views::JobView, wallet::views::WalletView};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::http::problem::{Kind, Problem};

/// Longest id of the caller's own.
const MAX_NAME_CHARS: usize = 200;
/// Longest output reference.
const MAX_OUTPUT_CHARS: usize = 2048;

/// A job to be submitted.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitBody {
    /// Your idempotency key for this request; a repeat finds the same job.
    #[schema(example = "order-1042-render")]
    pub(super) client_request_id: String,
    /// Your own user the work is for.
    #[schema(example = "user_8841")]
    pub(super) user: String,
    /// Wallet that pays.
    #[schema(example = "wallet_0190c5c2a3b47c1e8f00d2a1b3c4d5e6")]
    pub(super) wallet: String,
    /// Model that does the work; it needs a price in the wallet's currency.
    #[schema(example = "flux-pro")]
    pub(super) model: String,
    /// Estimated usage by meter, as strings. Left out, the price's own estimate is used.
    #[serde(default)]
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>, example = json!({"images": "4"}))]
    pub(super) estimate: Option<Quantities>,
    /// Source whose webhooks will speak of this job, where you know it already.
    #[serde(default)]
    #[schema(example = "replicate")]
    pub(super) source: Option<String>,
    /// Whether completion waits until you have stored the output.
    #[serde(default)]
    pub(super) output_required: bool,
}

/// Where the work was handed over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReferenceBody {
    /// Source whose webhooks will speak of this job.
    #[schema(example = "replicate")]
    pub(super) source: String,
    /// The provider's id of the work.
    #[schema(example = "gm3qorzdhgbfurvjtvhg6dckhu")]
    pub(super) provider_reference: String,
}

/// Where the output is stored.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputBody {
    /// Your reference to the stored output.
    #[schema(example = "s3://renders/order-1042.png")]
    pub(super) output: String,
}

/// Quantities by meter, each named once, each a string.
#[derive(Debug)]
pub(super) struct Quantities(Vec<(String, String)>);

impl Quantities {
    pub(super) fn usage(&self) -> Result<Usage<Estimated>, Problem> {
        let pairs = self
            .0
            .iter()
            .map(|(meter, text)| (meter.as_str(), text.as_str()));
        Usage::parse(pairs)
            .map_err(|error| Problem::new(Kind::Invalid, format!("estimate: {error}")))
    }
}

impl<'de> Deserialize<'de> for Quantities {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Quantities;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of meters and quantities")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Quantities, A::Error> {
                let mut pairs: Vec<(String, String)> = Vec::new();
                while let Some(meter) = map.next_key::<String>()? {
                    if pairs.iter().any(|(known, _)| *known == meter) {
                        return Err(de::Error::custom(format!("estimate names {meter:?} twice")));
                    }
                    let Text(quantity) = map.next_value()?;
                    pairs.push((meter, quantity));
                }
                Ok(Quantities(pairs))
            }
        }
        from.deserialize_map(Visitor)
    }
}

/// A quantity's text. A JSON number may already have lost digits on its way, so it is refused.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a quantity sent as a string, such as \"12.5\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// A text of the caller that goes into a column: not empty, not long, no control characters.
pub(super) fn name(field: &str, value: &str) -> Result<String, Problem> {
    bounded(field, value, MAX_NAME_CHARS)
}

/// Where an output is stored.
pub(super) fn output(value: &str) -> Result<String, Problem> {
    bounded("output", value, MAX_OUTPUT_CHARS)
}

fn bounded(field: &str, value: &str, max: usize) -> Result<String, Problem> {
    let fits = !value.trim().is_empty()
        && value.chars().count() <= max
        && !value.chars().any(char::is_control);
    if fits {
        return Ok(value.to_owned());
    }
    let detail = format!("{field}: use 1 to {max} characters, none of them control characters.");
    Err(Problem::new(Kind::Invalid, detail))
}

/// A job.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobBody {
    /// Immutable id.
    #[schema(example = "job_0190c5c2a3b47c1e8f00d2a1b3c4d5e6")]
    id: String,
    /// Lifecycle: pending, running, delivering, completed, failed, cancelled, blocked.
    #[schema(example = "pending")]
    state: &'static str,
    /// Why it failed, was cancelled or blocked.
    state_reason: Option<String>,
    /// What its settlements amount to: none, reserved, captured, released, adjusted, reversed.
    #[schema(example = "reserved")]
    settlement_state: &'static str,
    /// True for real money.
    livemode: bool,
    /// Wallet that pays.
    wallet: String,
    /// Your own user.
    user: String,
    /// Your idempotency key.
    client_request_id: String,
    /// Model.
    model: String,
    /// Price version frozen at submission.
    price_version: i32,
    /// Estimated usage the quote was rated from.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    estimate: serde_json::Value,
    /// Currency of every amount here.
    #[schema(example = "USD")]
    currency: &'static str,
    /// What was quoted, and held at first.
    #[schema(example = "0.16")]
    quote: String,
    /// Still on hold.
    #[schema(example = "0.16")]
    held: String,
    /// Net charged.
    #[schema(example = "0.00")]
    captured: String,
    /// The part of `captured` that is owed.
    #[schema(example = "0.00")]
    receivable: String,
    /// Source that speaks of the job.
    source: Option<String>,
    /// The provider's id of the work.
    provider_reference: Option<String>,
    /// Whether completion waits for a stored output.
    output_required: bool,
    /// Where the output is stored.
    output: Option<String>,
    /// When your cancel request was accepted.
    cancel_requested_at: Option<DateTime<Utc>>,
    /// When the job was accepted.
    submitted_at: DateTime<Utc>,
    /// When it entered its state.
    state_at: DateTime<Utc>,
}

/// The number alone; its currency stands beside it.
pub(super) fn number(amount: Amount) -> String {
    decimal_text(amount.value(), amount.currency())
}

impl From<JobView> for JobBody {
    fn from(job: JobView) -> Self {
        Self {
            id: job.id.to_string(),
            state: job.state.as_str(),
            state_reason: job.state_reason,
            settlement_state: job.settlement_state.as_str(),
            livemode: job.livemode,
            wallet: job.wallet.to_string(),
            user: job.user,
            client_request_id: job.client_request_id,
            model: job.model,
            price_version: job.price_version,
            estimate: job.estimate,
            currency: job.quote.currency().code(),
            quote: number(job.quote),
            held: number(job.held),
            captured: number(job.captured),
            receivable: number(job.receivable),
            source: job.source,
            provider_reference: job.provider_reference,
            output_required: job.output_required,
            output: job.output_reference,
            cancel_requested_at: job.cancel_requested_at,
            submitted_at: job.submitted_at,
            state_at: job.state_at,
        }
    }
}

/// What came of a submission.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SubmittedBody {
    /// The job.
    pub(super) job: JobBody,
    /// False when an earlier, equal request made it.
    pub(super) created: bool,
    /// What may still be spent from the wallet.
    #[schema(example = "99.84")]
    pub(super) remaining_available: String,
}

/// Jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobPage {
    /// The jobs of this page.
    pub(super) jobs: Vec<JobBody>,
    /// Pass it as `before` for the next page; absent on the last one.
    pub(super) next_before: Option<String>,
}

/// A wallet.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WalletBody {
    /// Id.
    #[schema(example = "wallet_0190c5c2a3b47c1e8f00d2a1b3c4d5e6")]
    id: String,
    /// Name.
    name: String,
    /// Currency of every amount here.
    #[schema(example = "USD")]
    currency: &'static str,
    /// True for real money.
    livemode: bool,
    /// What may be spent now: expired credit does not count.
    #[schema(example = "99.84")]
    available: String,
    /// Set aside for jobs.
    #[schema(example = "0.16")]
    held: String,
    /// Since when spending is stopped.
    frozen_at: Option<DateTime<Utc>>,
    /// Why.
    frozen_reason: Option<String>,
    /// When it was opened.
    created_at: DateTime<Utc>,
}

impl From<WalletView> for WalletBody {
    fn from(wallet: WalletView) -> Self {
        Self {
            id: wallet.wallet.to_string(),
            name: wallet.name,
            currency: wallet.available.currency().code(),
            livemode: wallet.livemode,
            available: number(wallet.spendable),
            held: number(wallet.held),
            frozen_at: wallet.frozen_at,
            frozen_reason: wallet.frozen_reason,
            created_at: wallet.created_at,
        }
    }
}

/// All wallets of the key's tenant and mode.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WalletList {
    /// Oldest first.
    pub(super) wallets: Vec<WalletBody>,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ProblemBody {
    /// Stable; explained under this path.
    #[serde(rename = "type")]
    #[schema(example = "/problems/insufficient-funds")]
    pub(super) kind: String,
    /// Short summary.
    title: String,
    /// HTTP status.
    status: u16,
    /// About this occurrence.
    detail: String,
    /// What to do next.
    next_step: String,
    /// Report this id when asking for help.
    request_id: String,
}
