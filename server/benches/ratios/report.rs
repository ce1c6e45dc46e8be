//! The table at the end: ours, the reference measured beside it, their ratio and the goal.

use std::fmt;

/// One goal.
pub(crate) struct Line {
    /// Number of the goal.
    pub(crate) goal: &'static str,
    /// What is compared.
    pub(crate) what: String,
    /// Our figure.
    pub(crate) ours: f64,
    /// The reference's figure, in the same unit.
    pub(crate) reference: f64,
    /// What the ratio should be.
    pub(crate) target: Target,
}

/// A bound on the ratio ours / reference.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
    /// Exactly: counts that must be equal.
    Exactly(f64),
    /// No bound: what it takes.
    Told,
}

impl Line {
    pub(crate) fn ratio(&self) -> f64 {
        if self.reference == 0.0 {
            self.ours
        } else {
            self.ours / self.reference
        }
    }

    fn met(&self) -> &'static str {
        let met = match self.target {
            Target::AtLeast(bound) => self.ratio() >= bound,
            Target::AtMost(bound) => self.ratio() <= bound,
            Target::Exactly(count) => self.ours == count,
            Target::Told => return "",
        };
        if met { "met" } else { "NOT MET" }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound:.3}"),
            Self::Exactly(count) => write!(f, "= {count}"),
            Self::Told => Ok(()),
        }
    }
}

/// Prints the table.
pub(crate) fn print(lines: &[Line]) {
    println!(
        "\n{:<5} {:<58} {:>12} {:>12} {:>8} {:>9}",
        "goal", "ours / reference", "ours", "reference", "ratio", "target"
    );
    for line in lines {
        println!(
            "{:<5} {:<58} {:>12.1} {:>12.1} {:>8.2} {:>9}  {}",
            line.goal,
            line.what,
            line.ours,
            line.reference,
            line.ratio(),
            line.target.to_string(),
            line.met(),
        );
    }
}

/// The middle of an odd number of repetitions.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
