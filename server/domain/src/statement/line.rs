//! One line of a statement: read from text, with everything that is wrong with it.

use chrono::{DateTime, SecondsFormat, Utc};
use rust_decimal::Decimal;

use crate::{
    adapter,
    canonical::Hash,
    code::code,
    id::JobId,
    money::Currency,
    usage::{Meter, Usage, Validated},
};

code!(
    /// What a line may say.
    Field {
        /// The provider's id of the line.
        Id = "id",
        /// The provider's reference of the work.
        Reference = "reference",
        /// Our job, instead of a reference.
        Job = "job",
        /// What was counted.
        Meter = "meter",
        /// How much of it.
        Quantity = "quantity",
        /// What the provider charges.
        Amount = "amount",
        /// Currency of the amount.
        Currency = "currency",
        /// When, as RFC 3339.
        OccurredAt = "occurred_at",
    }
);

/// What work a line is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum About {
    /// The provider's name for it.
    Reference(String),
    /// Ours.
    Job(JobId),
}

/// A line that makes sense.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The provider's id of the line.
    pub id: Option<String>,
    /// What work it is about.
    pub about: About,
    /// What was counted.
    pub meter: Meter,
    /// How much of it; never below zero.
    pub quantity: Decimal,
    /// What the provider charges, as finely as it says; never below zero.
    pub amount: Option<(Decimal, Currency)>,
    /// When, by the provider's clock.
    pub occurred_at: Option<DateTime<Utc>>,
}

/// What is wrong with a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The field, where it is about one.
    pub field: Option<Field>,
    /// What is wrong and what to do.
    pub problem: String,
}

impl Wrong {
    fn of(field: Field, problem: impl Into<String>) -> Self {
        Self {
            field: Some(field),
            problem: problem.into(),
        }
    }
}

const NAMES: &str = "use 1 to 256 characters, none of them a control character";

impl Line {
    /// Reads the texts of a line; an empty text is none.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn read<'t>(text_of: impl Fn(Field) -> Option<&'t str>) -> Result<Self, Vec<Wrong>> {
        let text = |field| text_of(field).filter(|text| !text.is_empty());
        let mut wrong = Vec::new();
        let id = keep(name(Field::Id, text(Field::Id)), &mut wrong);
        let about = keep(about(text(Field::Reference), text(Field::Job)), &mut wrong);
        let counted = keep(
            counted(text(Field::Meter), text(Field::Quantity)),
            &mut wrong,
        );
        let amount = keep(
            charged(text(Field::Amount), text(Field::Currency)),
            &mut wrong,
        );
        let occurred_at = keep(time(text(Field::OccurredAt)), &mut wrong);
        match (id, about, counted, amount, occurred_at) {
            (Some(id), Some(about), Some((meter, quantity)), Some(amount), Some(occurred_at)) => {
                Ok(Self {
                    id,
                    about,
                    meter,
                    quantity,
                    amount,
                    occurred_at,
                })
            }
            _ => Err(wrong),
        }
    }

    /// What makes it this line and no other: the provider's id of it, or else what work, meter and time
    /// it is about. Two lines of one identity are one line that was written twice.
    pub fn identity(&self) -> Hash {
        // No part holds a line break.
        let text = match (&self.id, &self.about) {
            (Some(id), _) => format!("id\n{id}"),
            (None, About::Reference(reference)) => format!("reference\n{reference}"),
            (None, About::Job(job)) => format!("job\n{job}"),
        };
        let text = match self.id {
            Some(_) => text,
            None => {
                let at = self
                    .occurred_at
                    .map(|at| at.to_rfc3339_opts(SecondsFormat::Micros, true));
                format!("{text}\n{}\n{}", self.meter, at.unwrap_or_default())
            }
        };
        Hash::of_bytes(text.as_bytes())
    }
}

fn keep<T>(read: Result<T, Vec<Wrong>>, wrong: &mut Vec<Wrong>) -> Option<T> {
    read.map_err(|found| wrong.extend(found)).ok()
}

fn name(field: Field, text: Option<&str>) -> Result<Option<String>, Vec<Wrong>> {
    match text {
        None => Ok(None),
        Some(text) => match adapter::name(text) {
            Some(name) => Ok(Some(name.to_owned())),
            None => Err(vec![Wrong::of(field, NAMES)]),
        },
    }
}

fn about(reference: Option<&str>, job: Option<&str>) -> Result<About, Vec<Wrong>> {
    let wrong = |field, problem: &str| vec![Wrong::of(field, problem)];
    match (name(Field::Reference, reference)?, job) {
        (Some(reference), None) => Ok(About::Reference(reference)),
        (None, Some(job)) => match job.parse() {
            Ok(job) => Ok(About::Job(job)),
            Err(error) => Err(vec![Wrong::of(Field::Job, error.to_string())]),
        },
        (Some(_), Some(_)) => Err(wrong(
            Field::Job,
            "give the provider's reference or our job, not both",
        )),
        (None, None) => Err(wrong(
            Field::Reference,
            "give the provider's reference, or our job instead",
        )),
    }
}

fn counted(meter: Option<&str>, quantity: Option<&str>) -> Result<(Meter, Decimal), Vec<Wrong>> {
    let mut wrong = Vec::new();
    let name = match meter.map(str::parse::<Meter>) {
        None => {
            wrong.push(Wrong::of(Field::Meter, "say what was counted"));
            None
        }
        Some(Err(error)) => {
            wrong.push(Wrong::of(Field::Meter, error.to_string()));
            None
        }
        Some(Ok(meter)) => Some(meter),
    };
    // The quantity is read by the same rule as that of an event.
    let of = name.as_ref().map_or("meter", Meter::as_str);
    let read = match quantity {
        None => {
            wrong.push(Wrong::of(Field::Quantity, "say how much was counted"));
            None
        }
        Some(text) => match Usage::<Validated>::parse([(of, text)]) {
            Ok(usage) => usage.iter().next().map(|(_, quantity)| quantity),
            Err(error) => {
                wrong.push(Wrong::of(Field::Quantity, error.to_string()));
                None
            }
        },
    };
    name.zip(read).ok_or(wrong)
}

fn charged(
    amount: Option<&str>,
    currency: Option<&str>,
) -> Result<Option<(Decimal, Currency)>, Vec<Wrong>> {
    let (amount, currency) = match (amount, currency) {
        (None, None) => return Ok(None),
        (Some(_), None) => {
            return Err(vec![Wrong::of(
                Field::Currency,
                "say which currency the amount is in",
            )]);
        }
        (None, Some(_)) => {
            return Err(vec![Wrong::of(
                Field::Amount,
                "say the amount, or leave the currency out",
            )]);
        }
        (Some(amount), Some(currency)) => (amount, currency),
    };
    let mut wrong = Vec::new();
    let value = match Usage::<Validated>::parse([("amount", amount)]) {
        Ok(read) => read.iter().next().map(|(_, value)| value),
        Err(_) => {
            let problem = "write the amount like \"12.40\", not below zero";
            wrong.push(Wrong::of(Field::Amount, problem));
            None
        }
    };
    let currency = match currency.parse::<Currency>() {
        Ok(currency) => Some(currency),
        Err(error) => {
            wrong.push(Wrong::of(Field::Currency, error.to_string()));
            None
        }
    };
    value.zip(currency).map(Some).ok_or(wrong)
}

fn time(text: Option<&str>) -> Result<Option<DateTime<Utc>>, Vec<Wrong>> {
    let Some(text) = text else {
        return Ok(None);
    };
    match adapter::time(text) {
        Some(at) => Ok(Some(at)),
        None => {
            let problem = "write the time like 2026-11-30T12:00:00Z";
            Err(vec![Wrong::of(Field::OccurredAt, problem)])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(Field, &str)]) -> Result<Line, Vec<Wrong>> {
        Line::read(|field| {
            let found = fields.iter().find(|(name, _)| *name == field);
            found.map(|(_, text)| *text)
        })
    }

    fn problems(fields: &[(Field, &str)]) -> Vec<Field> {
        let wrong = read(fields).unwrap_err();
        wrong.into_iter().filter_map(|wrong| wrong.field).collect()
    }

    const PLAIN: [(Field, &str); 3] = [
        (Field::Reference, "r-1"),
        (Field::Meter, "images"),
        (Field::Quantity, "0.1"),
    ];

    fn plain_and(more: &[(Field, &'static str)]) -> Vec<(Field, &'static str)> {
        // What comes first counts.
        [more, &PLAIN].concat()
    }

    #[test]
    fn a_line_keeps_every_digit() {
        let line = read(&plain_and(&[
            (Field::Quantity, "123456789.123456789012345678"),
            (Field::Amount, "0.000000001"),
            (Field::Currency, "USD"),
            (Field::OccurredAt, "2026-11-30T12:00:00+01:00"),
        ]))
        .unwrap();
        assert_eq!(line.quantity.to_string(), "123456789.123456789012345678");
        assert_eq!(line.amount.unwrap().0.to_string(), "0.000000001");
        assert_eq!(
            line.occurred_at.unwrap().to_rfc3339(),
            "2026-11-30T11:00:00+00:00"
        );
    }

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let fields = [
            (Field::Job, "job_1"),
            (Field::Meter, "Images"),
            (Field::Quantity, "-1"),
            (Field::Amount, "1"),
            (Field::OccurredAt, "yesterday"),
        ];
        let expected = [
            Field::Job,
            Field::Meter,
            Field::Quantity,
            Field::Currency,
            Field::OccurredAt,
        ];
        assert_eq!(problems(&fields), expected);
        let nothing = [Field::Reference, Field::Meter, Field::Quantity];
        assert_eq!(problems(&[]), nothing);
    }

    #[test]
    fn what_is_no_statement_of_usage_is_refused() {
        let job = format!("job_{}", "0".repeat(32));
        assert_eq!(
            problems(&[&[(Field::Job, job.as_str())], &PLAIN[..]].concat()),
            [Field::Job]
        );
        for (field, text) in [
            (Field::Quantity, "-0.5"),
            (Field::Quantity, "NaN"),
            (Field::Quantity, "1,5"),
            (Field::Quantity, "1000000000000000000"),
            (Field::Currency, "XXX"),
            (Field::Amount, "=1+1"),
            (Field::Reference, "a\u{0}b"),
            (Field::Id, "a\nb"),
        ] {
            let money = match field {
                Field::Currency => (Field::Amount, "1"),
                Field::Amount => (Field::Currency, "EUR"),
                _ => (Field::OccurredAt, ""),
            };
            assert_eq!(
                problems(&plain_and(&[(field, text), money])),
                [field],
                "{text}"
            );
        }
        assert_eq!(
            read(&plain_and(&[(Field::Quantity, "0")]))
                .unwrap()
                .quantity,
            Decimal::ZERO
        );
    }

    #[test]
    fn a_line_is_known_by_its_id_or_by_what_it_is_about() {
        let identity = |more: &[_]| read(&plain_and(more)).unwrap().identity();
        let at = (Field::OccurredAt, "2026-11-30T12:00:00Z");
        assert_eq!(identity(&[]), identity(&[(Field::Quantity, "7")]));
        assert_ne!(identity(&[]), identity(&[at]));
        let same = (Field::OccurredAt, "2026-11-30T13:00:00+01:00");
        assert_eq!(identity(&[at]), identity(&[same]));
        assert_ne!(identity(&[]), identity(&[(Field::Meter, "seconds")]));
        assert_ne!(identity(&[]), identity(&[(Field::Reference, "r-2")]));
        let id = (Field::Id, "17");
        assert_eq!(identity(&[id]), identity(&[id, (Field::Reference, "r-2")]));
        assert_ne!(identity(&[id]), identity(&[(Field::Id, "18")]));
    }
}
