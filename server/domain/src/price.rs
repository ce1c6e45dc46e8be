//! Prices and rating: usage × terms → an amount, with everything that led to it in a snapshot.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::{
    money::{Amount, AmountError, Currency, Rounding},
    usage::{Estimated, Meter, Usage},
};

/// One line of a price: so much for so many units of a meter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// What is counted.
    pub meter: Meter,
    /// Price of `per` units.
    pub price: Decimal,
    /// How many units the price is for: 1 image, 1000000 tokens.
    pub per: Decimal,
}

/// What a model costs: part of an immutable price version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// Lines that are added up.
    pub components: Vec<Component>,
    /// What happens to digits finer than the ledger's.
    #[serde(default)]
    pub rounding: Rounding,
    /// Usage assumed for a quote when the caller gives no estimate.
    pub estimate: Usage<Estimated>,
}

/// Why usage could not be priced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RatingError {
    /// The terms have no line for a meter.
    #[error("the price has no component for meter {0}: add a price version that has one")]
    UnknownMeter(Meter),
    /// None of the meters that are priced was reported.
    #[error("the usage reports none of the meters the price is made of")]
    NothingPriced,
    /// The product is beyond the ledger.
    #[error(transparent)]
    Amount(#[from] AmountError),
}

/// Why terms are not usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// No line.
    #[error("a price needs at least one component")]
    Empty,
    /// A price or unit count out of range.
    #[error("component {0}: the price must not be negative and `per` must be positive")]
    Component(Meter),
    /// Two lines for a meter.
    #[error("component {0} is listed twice")]
    Repeated(Meter),
}

/// One priced line of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RatedLine {
    /// What was counted.
    pub meter: Meter,
    /// How much of it.
    pub quantity: Decimal,
    /// Price of `per` units.
    pub price: Decimal,
    /// How many units the price is for.
    pub per: Decimal,
    /// quantity × price ÷ per, before rounding.
    pub amount: Decimal,
}

/// Everything one settlement was priced from; stored with it and never recomputed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Model the price is of.
    pub model: String,
    /// Currency of all amounts.
    pub currency: Currency,
    /// Price version.
    pub version: i32,
    /// Lines, by meter.
    pub lines: Vec<RatedLine>,
    /// Rounding applied once to the sum.
    pub rounding: Rounding,
    /// The rounded sum.
    pub total: Decimal,
}

impl Snapshot {
    /// The rounded sum with its currency.
    ///
    /// # Errors
    /// Never for a snapshot that rating made; a stored one may have been tampered with.
    pub fn amount(&self) -> Result<Amount, AmountError> {
        Amount::exact(self.total, self.currency)
    }
}

/// A price version as rating needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Price {
    /// Model.
    pub model: String,
    /// Currency.
    pub currency: Currency,
    /// Version within model and currency.
    pub version: i32,
    /// Terms.
    pub terms: Terms,
}

impl Terms {
    /// Checks what the type cannot say.
    ///
    /// # Errors
    /// The first [`TermsError`] found.
    pub fn check(&self) -> Result<(), TermsError> {
        if self.components.is_empty() {
            return Err(TermsError::Empty);
        }
        for (at, component) in self.components.iter().enumerate() {
            if component.price < Decimal::ZERO || component.per <= Decimal::ZERO {
                return Err(TermsError::Component(component.meter.clone()));
            }
            if self.components[..at]
                .iter()
                .any(|earlier| earlier.meter == component.meter)
            {
                return Err(TermsError::Repeated(component.meter.clone()));
            }
        }
        Ok(())
    }
}

impl Price {
    /// Prices usage of either kind. Every component whose meter was reported is charged.
    ///
    /// `unknown` decides about meters the terms do not have: providers report many that are not
    /// billed, callers who estimate one that is not priced have made a mistake.
    ///
    /// # Errors
    /// [`RatingError`].
    pub fn rate<Kind>(
        &self,
        usage: &Usage<Kind>,
        unknown: UnknownMeters,
    ) -> Result<Snapshot, RatingError> {
        if let UnknownMeters::Refuse = unknown {
            let priced = |meter: &Meter| self.terms.components.iter().any(|c| c.meter == *meter);
            if let Some((meter, _)) = usage.iter().find(|(meter, _)| !priced(meter)) {
                return Err(RatingError::UnknownMeter(meter.clone()));
            }
        }
        let mut lines = Vec::with_capacity(self.terms.components.len());
        let mut sum = Decimal::ZERO;
        for component in &self.terms.components {
            let Some(quantity) = usage.quantity(&component.meter) else {
                continue;
            };
            let amount = quantity
                .checked_mul(component.price)
                .and_then(|product| product.checked_div(component.per))
                .ok_or(AmountError::TooLarge)?;
            sum = sum.checked_add(amount).ok_or(AmountError::TooLarge)?;
            let Component { meter, price, per } = component.clone();
            lines.push(RatedLine {
                meter,
                quantity,
                price,
                per,
                amount,
            });
        }
        if lines.is_empty() {
            return Err(RatingError::NothingPriced);
        }
        let rounding = self.terms.rounding;
        let total = Amount::rounded(sum, self.currency, rounding)?.value();
        let (model, currency, version) = (self.model.clone(), self.currency, self.version);
        Ok(Snapshot {
            model,
            currency,
            version,
            lines,
            rounding,
            total,
        })
    }
}

/// What rating does with a meter the terms do not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownMeters {
    /// Providers report more than is billed.
    Ignore,
    /// A caller's estimate must be priceable in full.
    Refuse,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Validated;
    use proptest::prelude::*;

    fn price(components: &[(&str, &str, &str)]) -> Price {
        let component = |&(meter, price, per): &(&str, &str, &str)| Component {
            meter: meter.parse().unwrap(),
            price: price.parse().unwrap(),
            per: per.parse().unwrap(),
        };
        Price {
            model: "acme/chat".into(),
            currency: "USD".parse().unwrap(),
            version: 3,
            terms: Terms {
                components: components.iter().map(component).collect(),
                rounding: Rounding::HalfEven,
                estimate: Usage::parse([("input_tokens", "1000")]).unwrap(),
            },
        }
    }

    #[test]
    fn lines_add_up_and_are_rounded_once() {
        let price = price(&[
            ("input_tokens", "0.15", "1000000"),
            ("output_tokens", "0.60", "1000000"),
        ]);
        let usage = Usage::<Validated>::parse([
            ("input_tokens", "1024"),
            ("output_tokens", "377"),
            ("seconds", "1"),
        ])
        .unwrap();
        let snapshot = price.rate(&usage, UnknownMeters::Ignore).unwrap();
        // 0.0001536 + 0.0002262 = 0.0003798
        assert_eq!(snapshot.total.to_string(), "0.00038");
        assert_eq!(
            price.rate(&usage, UnknownMeters::Refuse),
            Err(RatingError::UnknownMeter("seconds".parse().unwrap()))
        );
    }

    #[test]
    fn usage_that_reports_nothing_priced_is_never_free() {
        let usage = Usage::<Validated>::parse([("seconds", "9")]).unwrap();
        let refused = price(&[("images", "1", "1")]).rate(&usage, UnknownMeters::Ignore);
        assert_eq!(refused, Err(RatingError::NothingPriced));
    }

    #[test]
    fn terms_refuse_negative_prices_and_repeated_meters() {
        assert!(price(&[("images", "-1", "1")]).terms.check().is_err());
        assert!(price(&[("images", "1", "0")]).terms.check().is_err());
        assert!(
            price(&[("images", "1", "1"), ("images", "2", "1")])
                .terms
                .check()
                .is_err()
        );
        assert!(price(&[]).terms.check().is_err());
    }

    proptest! {
        #[test]
        fn rating_is_monotone_in_quantity(a in 0u64..1_000_000_000, b in 0u64..1_000_000_000) {
            let price = price(&[("images", "0.0137", "3")]);
            let total = |n: u64| {
                let usage = Usage::<Validated>::parse([("images", n.to_string().as_str())]).unwrap();
                price.rate(&usage, UnknownMeters::Ignore).unwrap().total
            };
            prop_assert_eq!(a <= b, total(a) <= total(b) && (a == b || total(a) < total(b)));
        }
    }
}
