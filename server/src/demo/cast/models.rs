//! The models and what they cost in each currency.

use domain::{
    money::{Currency, Rounding},
    price::{Component, Price, Terms},
    usage::Usage,
};

use super::Sender;
use crate::demo::Failure;

/// A quantity of a meter: where it usually lies and how finely it is told.
pub(crate) struct Meter {
    /// Its name.
    pub(crate) name: &'static str,
    /// Least and most, in steps.
    pub(crate) steps: (u64, u64),
    /// Decimals of a step.
    pub(crate) scale: u32,
    /// Assumed for a quote when the caller gives no estimate.
    pub(crate) assumed: &'static str,
    /// What so many units cost: (units, USD, EUR, JPY).
    pub(crate) price: (&'static str, &'static str, &'static str, &'static str),
}

/// A model.
pub(crate) struct Model {
    /// Its name in our price list.
    pub(crate) name: &'static str,
    /// Who runs it.
    pub(crate) sender: Sender,
    /// What it is charged by.
    pub(crate) meters: &'static [Meter],
}

/// The models.
pub(crate) static MODELS: &[Model] = &[
    Model {
        name: "imagine-xl",
        sender: Sender::Replicate,
        meters: &[Meter {
            name: "images",
            steps: (1, 8),
            scale: 0,
            assumed: "4",
            price: ("1", "0.04", "0.036", "6"),
        }],
    },
    Model {
        name: "motion-2",
        sender: Sender::Acme,
        meters: &[Meter {
            name: "video_seconds",
            steps: (20, 300),
            scale: 1,
            assumed: "16",
            price: ("1", "0.095", "0.0875", "14.25"),
        }],
    },
    Model {
        name: "scribe-large",
        sender: Sender::Replicate,
        meters: &[
            Meter {
                name: "input_tokens",
                steps: (200, 60_000),
                scale: 0,
                assumed: "20000",
                price: ("1000000", "0.25", "0.23", "37.5"),
            },
            Meter {
                name: "output_tokens",
                steps: (50, 8_000),
                scale: 0,
                assumed: "4000",
                price: ("1000000", "0.95", "0.88", "142.5"),
            },
        ],
    },
    Model {
        name: "upscale-pro",
        sender: Sender::Replicate,
        meters: &[Meter {
            name: "predict_seconds",
            steps: (800_000, 95_000_000),
            scale: 6,
            assumed: "45",
            price: ("1", "0.000975", "0.0009", "0.15"),
        }],
    },
    Model {
        name: "foley-1",
        sender: Sender::Acme,
        meters: &[
            Meter {
                name: "audio_seconds",
                steps: (500, 24_000),
                scale: 2,
                assumed: "120",
                price: ("60", "0.12", "0.11", "18"),
            },
            Meter {
                name: "requests",
                steps: (1, 1),
                scale: 0,
                assumed: "1",
                price: ("1", "0.002", "0.0018", "0.3"),
            },
        ],
    },
];

/// Currencies that prices are listed in.
pub(crate) const CURRENCIES: [&str; 3] = ["USD", "EUR", "JPY"];

impl Model {
    /// What it costs in one of [`CURRENCIES`].
    ///
    /// # Errors
    /// When the table above is not well-formed, which a test excludes.
    pub(crate) fn price(&self, currency: &str) -> Result<Price, Failure> {
        let component = |meter: &Meter| -> Result<Component, Failure> {
            let (per, usd, eur, jpy) = meter.price;
            let price = match currency {
                "EUR" => eur,
                "JPY" => jpy,
                _ => usd,
            };
            Ok(Component {
                meter: meter.name.parse()?,
                price: price.parse()?,
                per: per.parse()?,
            })
        };
        let terms = Terms {
            components: self
                .meters
                .iter()
                .map(component)
                .collect::<Result<_, _>>()?,
            rounding: Rounding::HalfEven,
            estimate: Usage::parse(self.meters.iter().map(|meter| (meter.name, meter.assumed)))?,
        };
        terms.check()?;
        Ok(Price {
            model: self.name.to_owned(),
            currency: currency.parse::<Currency>()?,
            version: 1,
            terms,
        })
    }
}
