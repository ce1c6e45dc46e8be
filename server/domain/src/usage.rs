//! Usage: what a job consumed, by meter. Estimates and validated usage are different types, so an
//! estimate can reserve but never bill.

use std::{collections::BTreeMap, fmt, marker::PhantomData, str::FromStr};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// Name of something counted: `images`, `predict_seconds`, `input_tokens`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(transparent)]
pub struct Meter(String);

/// Why a text or number is no usage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// The name breaks the rule.
    #[error("meter {0:?}: use 1 to 64 of a-z, 0-9 and _, starting with a letter")]
    Meter(String),
    /// The quantity is not a plain decimal.
    #[error(
        "quantity of {meter}: {text:?} is not a decimal number like \"12.40\" (at most 18 digits before and 18 after the point)"
    )]
    Quantity {
        /// The meter.
        meter: String,
        /// What was given.
        text: String,
    },
    /// The quantity is negative.
    #[error("quantity of {0} is negative")]
    Negative(String),
    /// Nothing was counted.
    #[error("usage names no meter")]
    Empty,
    /// Too many meters.
    #[error("usage names more than 32 meters")]
    TooMany,
}

impl FromStr for Meter {
    type Err = UsageError;

    fn from_str(name: &str) -> Result<Self, UsageError> {
        let legal = (1..=64).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_lowercase())
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if legal {
            Ok(Self(name.to_owned()))
        } else {
            Err(UsageError::Meter(name.chars().take(80).collect()))
        }
    }
}

impl<'de> Deserialize<'de> for Meter {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(from)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

impl Meter {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Guessed before the work; may reserve, never bills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Estimated {}

/// Told by the provider and checked; may bill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Validated {}

/// Quantities by meter. `Kind` is [`Estimated`] or [`Validated`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage<Kind> {
    quantities: BTreeMap<Meter, Decimal>,
    kind: PhantomData<Kind>,
}

impl<Kind> Usage<Kind> {
    /// Checks names and quantities. Quantities arrive as text, so no float is ever involved.
    ///
    /// # Errors
    /// [`UsageError`] naming the meter at fault.
    pub fn parse<'a>(
        quantities: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, UsageError> {
        let mut checked = BTreeMap::new();
        for (name, text) in quantities {
            let meter: Meter = name.parse()?;
            let quantity = quantity(name, text)?;
            checked.insert(meter, quantity);
        }
        match checked.len() {
            0 => Err(UsageError::Empty),
            1..=32 => Ok(Self {
                quantities: checked,
                kind: PhantomData,
            }),
            _ => Err(UsageError::TooMany),
        }
    }

    /// Quantity of a meter, if it was counted.
    pub fn quantity(&self, meter: &Meter) -> Option<Decimal> {
        self.quantities.get(meter).copied()
    }

    /// All quantities, by meter.
    pub fn iter(&self) -> impl Iterator<Item = (&Meter, Decimal)> {
        self.quantities
            .iter()
            .map(|(meter, quantity)| (meter, *quantity))
    }
}

/// Plain decimal digits; exponents are written by some senders for tiny values and are exact too.
fn quantity(name: &str, text: &str) -> Result<Decimal, UsageError> {
    let refuse = || UsageError::Quantity {
        meter: name.to_owned(),
        text: text.chars().take(40).collect(),
    };
    let value = if text.contains(['e', 'E']) {
        Decimal::from_scientific(text)
    } else {
        Decimal::from_str_exact(text)
    };
    let value = value.map_err(|_| refuse())?;
    if value.is_sign_negative() && !value.is_zero() {
        return Err(UsageError::Negative(name.to_owned()));
    }
    let value = value.abs().normalize();
    if value.scale() > 18 || value >= Decimal::from_i128_with_scale(1_000_000_000_000_000_000, 0) {
        return Err(refuse());
    }
    Ok(value)
}

/// Quantities are written as strings.
impl<Kind> Serialize for Usage<Kind> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(
            self.quantities
                .iter()
                .map(|(meter, quantity)| (meter, quantity.to_string())),
        )
    }
}

/// Quantities are read from strings only: a JSON number may already have lost digits.
impl<'de, Kind> Deserialize<'de> for Usage<Kind> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let quantities = BTreeMap::<String, String>::deserialize(from)?;
        let pairs = quantities
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        Self::parse(pairs).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, text: &str) -> Result<Usage<Validated>, UsageError> {
        Usage::parse([(name, text)])
    }

    #[test]
    fn quantities_keep_every_digit() {
        let usage = parse("predict_seconds", "5.247161016000000001").unwrap();
        assert_eq!(
            serde_json::to_string(&usage).unwrap(),
            r#"{"predict_seconds":"5.247161016000000001"}"#
        );
        assert_eq!(
            parse("images", "1e2").unwrap(),
            parse("images", "100").unwrap()
        );
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_its_meter() {
        for text in [
            "",
            "NaN",
            "1,5",
            "0x1",
            " 1",
            "1e400",
            "1000000000000000000",
            "9999999999999999999999999999999",
        ] {
            assert!(
                matches!(parse("images", text), Err(UsageError::Quantity { .. })),
                "{text}"
            );
        }
        assert_eq!(
            parse("images", "-1"),
            Err(UsageError::Negative("images".into()))
        );
        assert!(matches!(parse("Images", "1"), Err(UsageError::Meter(_))));
        assert!(serde_json::from_str::<Usage<Estimated>>(r#"{"images":1}"#).is_err());
        assert!(serde_json::from_str::<Usage<Estimated>>("{}").is_err());
    }
}
