//! Statements: what a provider says it did or billed in a period, held against our validated usage.
//!
//! Everything that either side says about one reference and one meter is a [`Group`], however many lines
//! and jobs that is. The sums of both sides are compared, and nothing depends on the order in which they
//! were heard. A disagreement that may still resolve itself is timing, and does not alarm.

#[cfg(test)]
mod laws;
mod line;

use std::{fmt, str::FromStr};

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use rust_decimal::Decimal;

pub use self::line::{About, Field, Line, Wrong};
use crate::{code::code, usage::Meter};

code!(
    /// What the two sides of a group come to.
    Outcome {
        /// They are equal.
        Matched = "matched",
        /// They differ by no more than is allowed.
        WithinTolerance = "within_tolerance",
        /// They differ by more.
        Differs = "differs",
        /// The provider states what we have no usage of.
        MissingWithUs = "missing_with_us",
        /// We have usage that the provider does not state.
        MissingWithProvider = "missing_with_provider",
        /// They differ, and a job is on its way or belongs to another period.
        Timing = "timing",
    }
);

impl Outcome {
    /// Whether someone has to look at it.
    pub fn alarms(self) -> bool {
        match self {
            Self::Differs | Self::MissingWithUs | Self::MissingWithProvider => true,
            Self::Matched | Self::WithinTolerance | Self::Timing => false,
        }
    }
}

code!(
    /// How a job of a group stands to the statement's period.
    Standing {
        /// It finished within the period.
        Within = "within",
        /// It finished before or after.
        Outside = "outside",
        /// It has not finished.
        UnderWay = "under_way",
    }
);

code!(
    /// Who has a group of which the other has nothing.
    Side {
        /// The provider states it.
        Theirs = "theirs",
        /// It is our usage.
        Ours = "ours",
    }
);

/// By how much the two sides may differ. Either bound suffices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tolerance {
    absolute: Decimal,
    relative: Decimal,
}

/// Why numbers are no tolerance.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "a tolerance is not below zero, and the relative one is at most 1: 0.01 is one in a hundred"
)]
pub struct ToleranceError;

impl Tolerance {
    /// Up to `absolute` units, or up to the share `relative` of the larger side.
    ///
    /// # Errors
    /// [`ToleranceError`].
    pub fn new(absolute: Decimal, relative: Decimal) -> Result<Self, ToleranceError> {
        let most = Decimal::from(1_000_000_000_000_000_000_u64);
        let fits = |value: Decimal, most| {
            value >= Decimal::ZERO && value <= most && value.normalize().scale() <= 18
        };
        if fits(absolute, most - Decimal::ONE) && fits(relative, Decimal::ONE) {
            Ok(Self {
                absolute: absolute.normalize(),
                relative: relative.normalize(),
            })
        } else {
            Err(ToleranceError)
        }
    }

    /// Units by which a group may differ.
    pub fn absolute(&self) -> Decimal {
        self.absolute
    }

    /// Share of the larger side by which a group may differ.
    pub fn relative(&self) -> Decimal {
        self.relative
    }

    /// Whether two quantities differ by no more than this.
    pub fn allows(&self, ours: Decimal, theirs: Decimal) -> bool {
        let Some(difference) = ours.checked_sub(theirs) else {
            return false;
        };
        let difference = difference.abs();
        let share = ours.max(theirs).checked_mul(self.relative);
        difference <= self.absolute || share.is_some_and(|share| difference <= share)
    }
}

/// Days a statement speaks of, in UTC: from the first, up to but not including the last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Period {
    from: NaiveDate,
    to: NaiveDate,
}

/// Why two days are no period.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a period runs from a day to a later one, both like 2026-11-30")]
pub struct PeriodError;

impl Period {
    /// From a day to a later one.
    ///
    /// # Errors
    /// [`PeriodError`].
    pub fn new(from: NaiveDate, to: NaiveDate) -> Result<Self, PeriodError> {
        if from < to {
            Ok(Self { from, to })
        } else {
            Err(PeriodError)
        }
    }

    /// The first day.
    pub fn from(&self) -> NaiveDate {
        self.from
    }

    /// The day after the last.
    pub fn to(&self) -> NaiveDate {
        self.to
    }

    /// When it begins.
    pub fn begins(&self) -> DateTime<Utc> {
        self.from.and_time(NaiveTime::MIN).and_utc()
    }
}

/// `2026-11-01/2026-12-01`.
impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.from, self.to)
    }
}

impl FromStr for Period {
    type Err = PeriodError;

    fn from_str(text: &str) -> Result<Self, PeriodError> {
        let day = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").map_err(|_| PeriodError);
        let (from, to) = text.split_once('/').ok_or(PeriodError)?;
        Self::new(day(from)?, day(to)?)
    }
}

/// Something that either side says about a reference and a meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A line of the statement.
    Line(Decimal),
    /// A line of a statement of another period.
    Elsewhere(Decimal),
    /// A job of ours, with its usage of the meter where it has any.
    Job(Standing, Option<Decimal>),
}

/// Everything both sides say about one reference and one meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Group {
    ours: Option<Decimal>,
    theirs: Option<Decimal>,
    elsewhere: Option<Decimal>,
    is_late: bool,
    is_too_large: bool,
}

impl Group {
    /// Counts something in.
    pub fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Line(quantity) => self.is_too_large |= !count_in(&mut self.theirs, quantity),
            Entry::Elsewhere(quantity) => {
                self.is_too_large |= !count_in(&mut self.elsewhere, quantity);
            }
            Entry::Job(Standing::Within, Some(usage)) => {
                self.is_too_large |= !count_in(&mut self.ours, usage);
            }
            Entry::Job(Standing::Within, None) => {}
            Entry::Job(Standing::Outside | Standing::UnderWay, _) => self.is_late = true,
        }
    }

    /// Counts a whole group in: what a person has matched is decided as if it had one name.
    pub fn join(&mut self, part: &Self) {
        for (sum, more) in [
            (&mut self.ours, part.ours),
            (&mut self.theirs, part.theirs),
            (&mut self.elsewhere, part.elsewhere),
        ] {
            self.is_too_large |= more.is_some_and(|more| !count_in(sum, more));
        }
        self.is_late |= part.is_late;
        self.is_too_large |= part.is_too_large;
    }

    /// Our usage within the period.
    pub fn ours(&self) -> Option<Decimal> {
        self.ours
    }

    /// The sum of the provider's lines.
    pub fn theirs(&self) -> Option<Decimal> {
        self.theirs
    }

    /// What it comes to.
    pub fn outcome(&self, tolerance: Tolerance) -> Outcome {
        let ours = self.ours.unwrap_or_default();
        let theirs = self.theirs.unwrap_or_default();
        let both_sides = self.ours.is_some() && self.theirs.is_some();
        if self.is_too_large {
            return Outcome::Differs;
        }
        if ours == theirs {
            return Outcome::Matched;
        }
        if both_sides && tolerance.allows(ours, theirs) {
            return Outcome::WithinTolerance;
        }
        if self.is_late || self.is_told_in_parts(tolerance) {
            return Outcome::Timing;
        }
        match (self.ours, self.theirs) {
            (_, None) => Outcome::MissingWithProvider,
            (None, Some(_)) => Outcome::MissingWithUs,
            (Some(_), Some(_)) => Outcome::Differs,
        }
    }

    /// Whether the statements of other periods make up for what is missing in this one.
    fn is_told_in_parts(&self, tolerance: Tolerance) -> bool {
        let told = self
            .elsewhere
            .and_then(|elsewhere| self.theirs.unwrap_or_default().checked_add(elsewhere));
        told.zip(self.ours)
            .is_some_and(|(told, ours)| told == ours || tolerance.allows(ours, told))
    }
}

/// Adds to a sum; says whether it still fits.
fn count_in(sum: &mut Option<Decimal>, quantity: Decimal) -> bool {
    match sum.unwrap_or_default().checked_add(quantity) {
        Some(total) => {
            *sum = Some(total);
            true
        }
        None => false,
    }
}

/// What a group is of; its text is the subject of the group's exception, the same in every run.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct GroupKey {
    /// Slug of the source.
    pub source: String,
    /// Its mode.
    pub livemode: bool,
    /// The statement's period.
    pub period: Period,
    /// What was counted.
    pub meter: Meter,
    /// The provider's reference, or our job id where there is none. It may hold anything but control
    /// characters, so it stands last.
    pub reference: String,
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.livemode { "live" } else { "test" };
        let (source, period, meter, reference) =
            (&self.source, self.period, &self.meter, &self.reference);
        write!(f, "{source} {mode} {period} {meter} {reference}")
    }
}

/// A text that names no group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected a source, mode, period, meter and reference")]
pub struct GroupKeyError;

impl FromStr for GroupKey {
    type Err = GroupKeyError;

    fn from_str(text: &str) -> Result<Self, GroupKeyError> {
        let mut parts = text.splitn(5, ' ');
        let mut part = || parts.next().ok_or(GroupKeyError);
        Ok(Self {
            source: part()?.to_owned(),
            livemode: match part()? {
                "live" => true,
                "test" => false,
                _ => return Err(GroupKeyError),
            },
            period: part()?.parse().map_err(|_| GroupKeyError)?,
            meter: part()?.parse().map_err(|_| GroupKeyError)?,
            reference: part()?.to_owned(),
        })
    }
}
