//! Money: an exact decimal with its currency, at the precision the ledger keeps.
//!
//! Work is often cheaper than a cent, so the ledger keeps four digits more than the minor unit.
//! An [`Amount`] never has more digits than that: it is rounded once, when it is rated, and every
//! later step is exact.

use std::{fmt, str::FromStr};

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

/// A currency of the table below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Currency(&'static Entry);

#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Entry {
    code: &'static str,
    minor_exponent: u32,
}

/// ISO 4217 codes and minor units. The `currencies` table of the database holds the same rows.
static TABLE: &[Entry] = &[
    entry("AUD", 2),
    entry("BHD", 3),
    entry("BRL", 2),
    entry("CAD", 2),
    entry("CHF", 2),
    entry("CNY", 2),
    entry("DKK", 2),
    entry("EUR", 2),
    entry("GBP", 2),
    entry("HKD", 2),
    entry("INR", 2),
    entry("JOD", 3),
    entry("JPY", 0),
    entry("KRW", 0),
    entry("KWD", 3),
    entry("MXN", 2),
    entry("NOK", 2),
    entry("NZD", 2),
    entry("OMR", 3),
    entry("PLN", 2),
    entry("SEK", 2),
    entry("SGD", 2),
    entry("TND", 3),
    entry("USD", 2),
    entry("ZAR", 2),
];

const fn entry(code: &'static str, minor_exponent: u32) -> Entry {
    Entry {
        code,
        minor_exponent,
    }
}

/// A currency code that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown currency {0:?}: use an ISO 4217 code such as USD, in capitals")]
pub struct UnknownCurrency(pub String);

impl Currency {
    /// Every currency, by code.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(Self)
    }

    /// ISO 4217 alphabetic code.
    pub fn code(self) -> &'static str {
        self.0.code
    }

    /// Digits of the minor unit.
    pub fn minor_exponent(self) -> u32 {
        self.0.minor_exponent
    }

    /// Digits the ledger keeps.
    pub fn ledger_exponent(self) -> u32 {
        self.0.minor_exponent + 4
    }
}

impl FromStr for Currency {
    type Err = UnknownCurrency;

    fn from_str(code: &str) -> Result<Self, UnknownCurrency> {
        TABLE
            .binary_search_by(|entry| entry.code.cmp(code))
            .map(|at| Self(&TABLE[at]))
            .map_err(|_| UnknownCurrency(code.chars().take(16).collect()))
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl Serialize for Currency {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let code = std::borrow::Cow::<'de, str>::deserialize(from)?;
        code.parse().map_err(serde::de::Error::custom)
    }
}

/// What happens to digits finer than the ledger keeps. Part of the price terms, so part of every
/// pricing snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// To the nearest; a tie goes to the even digit. Unbiased over many charges.
    #[default]
    HalfEven,
    /// Towards zero: in the customer's favour.
    Down,
    /// Away from zero: in the seller's favour.
    Up,
}

/// Why a number is no amount.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// More digits than the ledger keeps.
    #[error("{value} has more than the {digits} decimals that {currency} is kept in")]
    TooFine {
        /// The number.
        value: Decimal,
        /// Its currency.
        currency: Currency,
        /// Digits kept.
        digits: u32,
    },
    /// Outside what the ledger can hold.
    #[error("the amount is larger than the ledger can hold")]
    TooLarge,
    /// Two currencies met.
    #[error("{left} and {right} cannot be added: convert outside the ledger")]
    Currencies {
        /// Currency on the left.
        left: Currency,
        /// Currency on the right.
        right: Currency,
    },
}

/// Largest magnitude of an amount: what `numeric(28,9)` holds, with headroom for sums.
const LIMIT: Decimal = Decimal::from_parts(0xA4C6_8000, 0x0003_8D7E, 0, false, 0);

/// An exact amount of one currency, at most as fine as the ledger keeps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Amount {
    value: Decimal,
    currency: Currency,
}

impl Amount {
    /// Nothing.
    pub fn zero(currency: Currency) -> Self {
        Self {
            value: Decimal::ZERO,
            currency,
        }
    }

    /// An amount that is already as coarse as the ledger.
    ///
    /// # Errors
    /// [`AmountError::TooFine`] and [`AmountError::TooLarge`]; nothing is rounded silently.
    pub fn exact(value: Decimal, currency: Currency) -> Result<Self, AmountError> {
        let digits = currency.ledger_exponent();
        if value.normalize().scale() > digits {
            return Err(AmountError::TooFine {
                value,
                currency,
                digits,
            });
        }
        Self::checked(value, currency)
    }

    /// Rounds to the ledger's digits.
    ///
    /// # Errors
    /// [`AmountError::TooLarge`].
    pub fn rounded(
        value: Decimal,
        currency: Currency,
        rounding: Rounding,
    ) -> Result<Self, AmountError> {
        let strategy = match rounding {
            Rounding::HalfEven => RoundingStrategy::MidpointNearestEven,
            Rounding::Down => RoundingStrategy::ToZero,
            Rounding::Up => RoundingStrategy::AwayFromZero,
        };
        Self::checked(
            value.round_dp_with_strategy(currency.ledger_exponent(), strategy),
            currency,
        )
    }

    fn checked(value: Decimal, currency: Currency) -> Result<Self, AmountError> {
        if value.abs() > LIMIT {
            return Err(AmountError::TooLarge);
        }
        Ok(Self {
            value: value.normalize(),
            currency,
        })
    }

    /// The number.
    pub fn value(self) -> Decimal {
        self.value
    }

    /// The currency.
    pub fn currency(self) -> Currency {
        self.currency
    }

    /// Whether it is nothing.
    pub fn is_zero(self) -> bool {
        self.value.is_zero()
    }

    /// Whether it is more than nothing.
    pub fn is_positive(self) -> bool {
        self.value > Decimal::ZERO
    }

    /// The sum.
    ///
    /// # Errors
    /// When the currencies differ or the sum is too large.
    pub fn plus(self, other: Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        let sum = self
            .value
            .checked_add(other.value)
            .ok_or(AmountError::TooLarge)?;
        Self::checked(sum, self.currency)
    }

    /// The difference; may be negative.
    ///
    /// # Errors
    /// When the currencies differ or the difference is too large.
    pub fn minus(self, other: Self) -> Result<Self, AmountError> {
        self.plus(Self {
            value: -other.value,
            ..other
        })
    }

    /// The smaller of two amounts of one currency.
    ///
    /// # Errors
    /// When the currencies differ.
    pub fn min(self, other: Self) -> Result<Self, AmountError> {
        self.same_currency(other)?;
        Ok(if other.value < self.value {
            other
        } else {
            self
        })
    }

    fn same_currency(self, other: Self) -> Result<(), AmountError> {
        if self.currency == other.currency {
            return Ok(());
        }
        Err(AmountError::Currencies {
            left: self.currency,
            right: other.currency,
        })
    }
}

/// `12.34 USD`, with at least the digits of the minor unit.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            decimal_text(self.value, self.currency),
            self.currency
        )
    }
}

/// A number of a currency with at least its minor digits and no trailing zeros beyond them.
pub fn decimal_text(value: Decimal, currency: Currency) -> String {
    let mut shown = value.normalize();
    if shown.scale() < currency.minor_exponent() {
        shown.rescale(currency.minor_exponent());
    }
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(text: &str) -> Amount {
        Amount::exact(text.parse().unwrap(), "USD".parse().unwrap()).unwrap()
    }

    #[test]
    fn the_table_is_sorted_so_that_lookup_finds_every_code() {
        assert!(TABLE.is_sorted_by_key(|entry| entry.code));
        assert!(Currency::all().all(|currency| currency.code().parse() == Ok(currency)));
        assert_eq!(
            "XXX".parse::<Currency>(),
            Err(UnknownCurrency("XXX".into()))
        );
        assert!("usd".parse::<Currency>().is_err());
    }

    #[test]
    fn an_exact_amount_is_never_rounded() {
        let jpy: Currency = "JPY".parse().unwrap();
        assert!(Amount::exact("1.23456".parse().unwrap(), jpy).is_err());
        assert_eq!(usd("0.0420000000").to_string(), "0.042 USD");
        assert_eq!(usd("3").to_string(), "3.00 USD");
        assert_eq!(
            Amount::exact("3".parse().unwrap(), jpy)
                .unwrap()
                .to_string(),
            "3 JPY"
        );
    }

    #[test]
    fn rounding_is_the_policy_and_nothing_else() {
        let usd: Currency = "USD".parse().unwrap();
        let rounded = |text: &str, rounding| {
            Amount::rounded(text.parse().unwrap(), usd, rounding)
                .unwrap()
                .value()
                .to_string()
        };
        assert_eq!(rounded("0.0000005", Rounding::HalfEven), "0");
        assert_eq!(rounded("0.0000015", Rounding::HalfEven), "0.000002");
        assert_eq!(rounded("0.0000019", Rounding::Down), "0.000001");
        assert_eq!(rounded("0.0000011", Rounding::Up), "0.000002");
    }

    #[test]
    fn amounts_refuse_other_currencies_and_sizes_beyond_the_ledger() {
        let eur = Amount::zero("EUR".parse().unwrap());
        assert!(matches!(
            usd("1").plus(eur),
            Err(AmountError::Currencies { .. })
        ));
        assert_eq!(LIMIT.to_string(), "1000000000000000");
        assert_eq!(
            Amount::exact(Decimal::MAX, usd("0").currency()),
            Err(AmountError::TooLarge)
        );
        assert_eq!(usd("5").minus(usd("7")).unwrap().value().to_string(), "-2");
    }
}
