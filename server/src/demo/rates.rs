//! How often things go wrong, declared on the command line and printed with every run.

use std::{fmt, str::FromStr, time::Duration};

use rand::{RngExt as _, rngs::StdRng};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

const MILLION: u32 = 1_000_000;

/// A share of cases, kept in parts per million so that no float decides anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rate(u32);

/// A text that is no rate.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a rate: write a number from 0 to 1 such as 0.05, or a percentage such as 5%")]
pub(crate) struct NotARate(String);

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let refuse = || NotARate(text.chars().take(40).collect());
        let (digits, whole) = match text.strip_suffix('%') {
            Some(percent) => (percent, Decimal::ONE_HUNDRED),
            None => (text, Decimal::ONE),
        };
        let share: Decimal = digits.trim().parse().map_err(|_| refuse())?;
        if share < Decimal::ZERO || share > whole {
            return Err(refuse());
        }
        let millionths = share * Decimal::from(MILLION) / whole;
        u32::try_from(millionths.round())
            .map(Self)
            .map_err(|_| refuse())
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = Decimal::from(self.0) / Decimal::from(MILLION / 100);
        f.pad(&format!("{}%", percent.normalize()))
    }
}

impl Rate {
    /// Draws once. One number is always taken, so a rate of zero shifts no later draw.
    pub(crate) fn hits(self, rng: &mut StdRng) -> bool {
        rng.random_range(0..MILLION) < self.0
    }

    /// Where in the unit interval, in parts per million, the last of these shares ends.
    pub(crate) fn millionths(self) -> u32 {
        self.0
    }
}

/// A span of time as people write it: `250ms`, `2s`, `0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Span(u32);

/// A text that is no span.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is not a span of time up to an hour: write milliseconds such as 250ms, or seconds such as 2s"
)]
pub(crate) struct NotASpan(String);

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        let refuse = || NotASpan(text.chars().take(40).collect());
        let (digits, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
            (Some(digits), _) => (digits, 1),
            (None, Some(digits)) => (digits, 1000),
            (None, None) => (text, 1),
        };
        let count: u32 = digits.trim().parse().map_err(|_| refuse())?;
        count
            .checked_mul(unit)
            .filter(|ms| *ms <= 3_600_000)
            .map(Self)
            .ok_or_else(refuse)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} ms", self.0))
    }
}

impl Span {
    /// In milliseconds.
    pub(crate) fn ms(self) -> u32 {
        self.0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.0.into())
    }
}

/// Everything that may go otherwise than in the brochure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::Args, Serialize, Deserialize)]
pub(crate) struct Rates {
    /// Events delivered again after or while they are delivered, under the same id.
    #[arg(long, value_name = "RATE", default_value = "0.2")]
    pub(crate) duplicates: Rate,
    /// Jobs whose final event overtakes the earlier ones.
    #[arg(long, value_name = "RATE", default_value = "0.2")]
    pub(crate) reorder: Rate,
    /// Longest time an event is on its way.
    #[arg(long, value_name = "SPAN", default_value = "120ms")]
    pub(crate) delay: Span,
    /// Deliveries whose answer the provider never reads, so that it sends them again.
    #[arg(long, value_name = "RATE", default_value = "0.05")]
    pub(crate) lost_answers: Rate,
    /// Events that someone without the secret tries to forge first.
    #[arg(long, value_name = "RATE", default_value = "0.03")]
    pub(crate) wrong_signatures: Rate,
    /// Completions that come again under the same id with another usage.
    #[arg(long, value_name = "RATE", default_value = "0.02")]
    pub(crate) conflicts: Rate,
    /// Jobs that succeed after they were reported failed.
    #[arg(long, value_name = "RATE", default_value = "0.03")]
    pub(crate) late_success: Rate,
    /// Jobs that fail.
    #[arg(long, value_name = "RATE", default_value = "0.08")]
    pub(crate) failures: Rate,
    /// Jobs reported complete twice, under two ids and with two usages.
    #[arg(long, value_name = "RATE", default_value = "0.02")]
    pub(crate) second_completions: Rate,
    /// Jobs whose usage is corrected after they were charged.
    #[arg(long, value_name = "RATE", default_value = "0.04")]
    pub(crate) corrections: Rate,
    /// Jobs that are delivered in part.
    #[arg(long, value_name = "RATE", default_value = "0.03")]
    pub(crate) partial: Rate,
    /// Jobs the provider never says the end of.
    #[arg(long, value_name = "RATE", default_value = "0.01")]
    pub(crate) silence: Rate,
    /// Jobs the customer cancels: before dispatch, in time, or too late.
    #[arg(long, value_name = "RATE", default_value = "0.06")]
    pub(crate) cancels: Rate,
    /// Submissions the wallet cannot cover.
    #[arg(long, value_name = "RATE", default_value = "0.02")]
    pub(crate) unaffordable: Rate,
    /// Submissions above the tenant's own limit, which are recorded as blocked.
    #[arg(long, value_name = "RATE", default_value = "0.01")]
    pub(crate) blocked: Rate,
    /// Events of a type nobody asked for.
    #[arg(long, value_name = "RATE", default_value = "0.03")]
    pub(crate) unknown_events: Rate,
    /// Jobs in test mode.
    #[arg(long, value_name = "RATE", default_value = "0.05")]
    pub(crate) test_mode: Rate,
    /// Live jobs that a test-mode sender speaks of.
    #[arg(long, value_name = "RATE", default_value = "0.01")]
    pub(crate) strays: Rate,
    /// Jobs whose provider reference is attached only after the first event went out.
    #[arg(long, value_name = "RATE", default_value = "0.15")]
    pub(crate) late_references: Rate,
    /// Submissions that the customer's backend sends again under the same request id.
    #[arg(long, value_name = "RATE", default_value = "0.05")]
    pub(crate) resubmissions: Rate,
}

impl Rates {
    /// Name and value of each rate, in declared order.
    pub(crate) fn declared(&self) -> Vec<(&'static str, String)> {
        vec![
            ("duplicates", self.duplicates.to_string()),
            ("reorder", self.reorder.to_string()),
            ("delay up to", self.delay.to_string()),
            ("lost answers", self.lost_answers.to_string()),
            ("wrong signatures", self.wrong_signatures.to_string()),
            ("conflicts", self.conflicts.to_string()),
            ("late success", self.late_success.to_string()),
            ("failures", self.failures.to_string()),
            ("second completions", self.second_completions.to_string()),
            ("corrections", self.corrections.to_string()),
            ("partial", self.partial.to_string()),
            ("silence", self.silence.to_string()),
            ("cancels", self.cancels.to_string()),
            ("unaffordable", self.unaffordable.to_string()),
            ("blocked", self.blocked.to_string()),
            ("unknown events", self.unknown_events.to_string()),
            ("test mode", self.test_mode.to_string()),
            ("strays", self.strays.to_string()),
            ("late references", self.late_references.to_string()),
            ("resubmissions", self.resubmissions.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn rates_and_spans_read_as_people_write_them() {
        let rate = |text: &str| text.parse::<Rate>().map(|rate| rate.to_string()).ok();
        assert_eq!(rate("0.05").as_deref(), Some("5%"));
        assert_eq!(rate("2.5%").as_deref(), Some("2.5%"));
        assert_eq!(rate("1").as_deref(), Some("100%"));
        for bad in ["1.01", "-0.1", "101%", "often", ""] {
            assert_eq!(rate(bad), None, "{bad}");
        }
        let span = |text: &str| text.parse::<Span>().map(Span::ms).ok();
        assert_eq!(
            (span("250ms"), span("2s"), span("0")),
            (Some(250), Some(2000), Some(0))
        );
        assert_eq!((span("-1"), span("2h"), span("3601s")), (None, None, None));
    }

    #[test]
    fn a_rate_is_met() {
        let mut rng = StdRng::seed_from_u64(1);
        let rate: Rate = "0.2".parse().unwrap();
        let hits = (0..10_000).filter(|_| rate.hits(&mut rng)).count();
        assert!((1_850..2_150).contains(&hits), "{hits}");
        let never: Rate = "0".parse().unwrap();
        assert!((0..10_000).all(|_| !never.hits(&mut rng)));
    }
}
