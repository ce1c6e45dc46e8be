//! The proof at the end of a run: what the product's interface says of every job against what its plan
//! says it should have come to, and what was counted on each side.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use domain::exception::{Cause, Class, Reach, State};
use engine::{
    Engine,
    exception::views::{self, Filter},
    page::Cursor,
};
use futures::{StreamExt as _, stream};
use rust_decimal::Decimal;
use serde_json::Value;

use super::{
    oracle::{self, Answer, Expected},
    plan::Plan,
    wire::{Part, Tally},
};

/// Requests at once while jobs are read back.
const READERS: usize = 12;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A job that is not as its plan says.
#[derive(Clone, Debug)]
pub(super) struct Deviation {
    /// Which of the run.
    pub(super) index: u64,
    /// What is expected and what is seen.
    pub(super) text: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}: {}", self.index, self.text)
    }
}

/// What the plans of a run amount to.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Planned {
    /// Submissions refused for want of funds.
    pub(super) refused: u64,
    /// Submissions sent twice.
    pub(super) resubmitted: u64,
    /// Events with an id of their own.
    pub(super) events: u64,
    /// Contradictions.
    pub(super) contradicted: u64,
    /// Forgeries.
    pub(super) forged: u64,
}

impl Planned {
    /// Adds up the plans of a run.
    pub(super) fn of(part: &Part) -> Self {
        let mut sum = Self::default();
        for index in 0..part.jobs {
            let plan = Plan::draw(part.seed, index, &part.rates);
            let refused = matches!(
                oracle::expect(&plan, false),
                Ok(Expected {
                    answer: Answer::PaymentRequired,
                    ..
                })
            );
            sum.refused += u64::from(refused);
            sum.resubmitted += u64::from(plan.resubmits && !refused);
            for event in &plan.events {
                sum.events += 1;
                sum.contradicted += u64::from(event.conflict.is_some());
                sum.forged += u64::from(event.forgery.is_some());
            }
        }
        sum
    }
}

/// Compares every job of the run with its plan, by the product's own interface.
///
/// # Errors
/// When the interface cannot be asked.
pub(super) async fn deviations(
    part: &Part,
    jobs: &BTreeMap<u64, Option<String>>,
    answered: &BTreeSet<u64>,
) -> Result<Vec<Deviation>, Failure> {
    let client = reqwest::Client::builder().build()?;
    let mut found: Vec<Deviation> = stream::iter(0..part.jobs)
        .map(|index| {
            let told = (jobs.get(&index), answered.contains(&index));
            compare(&client, part, index, told)
        })
        .buffer_unordered(READERS)
        .filter_map(async |text| text.transpose())
        .collect::<Vec<Result<Deviation, Failure>>>()
        .await
        .into_iter()
        .collect::<Result<_, _>>()?;
    found.sort_by_key(|deviation| deviation.index);
    Ok(found)
}

async fn compare(
    client: &reqwest::Client,
    part: &Part,
    index: u64,
    (told, answered): (Option<&Option<String>>, bool),
) -> Result<Option<Deviation>, Failure> {
    let plan = Plan::draw(part.seed, index, &part.rates);
    let expected = oracle::expect(&plan, answered)?;
    let deviates = |text: String| Ok(Some(Deviation { index, text }));
    let job = match (told, expected.answer) {
        (Some(None), Answer::PaymentRequired) => return Ok(None),
        (Some(Some(job)), Answer::Accepted) => job,
        (Some(Some(job)), Answer::PaymentRequired) => {
            return deviates(format!("{job} should have been refused for want of funds"));
        }
        (Some(None), Answer::Accepted) => {
            return deviates("was refused for want of funds and should not have been".to_owned());
        }
        (None, _) => return deviates("its submission was never answered".to_owned()),
    };
    let url = format!("{}/v1/jobs/{job}", part.base_url);
    let response = client
        .get(url)
        .bearer_auth(&part.purses[plan.wallet].api_key)
        .send()
        .await?;
    let (status, body) = (response.status(), response.bytes().await?);
    let seen: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    if !status.is_success() {
        return deviates(format!("{job} reads as {status}: {seen}"));
    }
    Ok(difference(&plan, &expected, &seen).map(|text| Deviation {
        index,
        text: format!("{job} {text}"),
    }))
}

/// What is otherwise than expected, if anything.
fn difference(plan: &Plan, expected: &Expected, seen: &Value) -> Option<String> {
    let amount = |name: &str| {
        seen[name]
            .as_str()
            .and_then(|text| text.parse::<Decimal>().ok())
    };
    let state = seen["state"].as_str();
    let as_expected = state == Some(expected.state.as_str())
        && amount("captured") == Some(expected.charged.value())
        && amount("held") == Some(expected.held.value());
    (!as_expected).then(|| {
        format!(
            "({:?}) should be {} with {} charged and {} held, but is {} with {} charged and {} held",
            plan.story, expected.state, expected.charged, expected.held, seen["state"], seen["captured"], seen["held"],
        )
    })
}

/// One line of the summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Check {
    what: &'static str,
    expected: String,
    seen: String,
    /// Whether it is as expected.
    pub(super) holds: bool,
}

impl Check {
    /// Both sides are equal.
    pub(super) fn equal(what: &'static str, expected: impl ToString, seen: impl ToString) -> Self {
        let (expected, seen) = (expected.to_string(), seen.to_string());
        Self {
            what,
            holds: expected == seen,
            expected,
            seen,
        }
    }

    /// What was seen lies between the bounds.
    pub(super) fn between(what: &'static str, (least, most): (u64, u64), seen: u64) -> Self {
        let expected = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        Self {
            what,
            expected,
            seen: seen.to_string(),
            holds: (least..=most).contains(&seen),
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.holds { "ok" } else { "WRONG" };
        write!(
            f,
            "  {:<44} {:>16} {:>12}  {mark}",
            self.what, self.expected, self.seen
        )
    }
}

/// What the product counted during the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counted {
    pub(super) events: u64,
    pub(super) duplicates: u64,
    pub(super) conflicts: u64,
    pub(super) rejected: u64,
}

/// A run over everything finds what the provider's statement disagrees about, and nothing else.
pub(super) async fn exceptions(engine: &Engine) -> Result<Check, Failure> {
    let run = engine.reconcile(Cause::Scheduled, Some(Reach::Full), None);
    run.await?;
    let filter = Filter {
        state: Some(State::Open),
        ..Filter::default()
    };
    let mut conn = engine.pool().acquire().await?;
    let open = views::list(&mut conn, &filter, Cursor::Newest).await?;
    let others = open
        .rows
        .iter()
        .filter(|one| one.class != Class::StatedUsage);
    Ok(Check::equal(
        "exceptions beside a statement's",
        0,
        others.count(),
    ))
}

/// The counts of both sides, line by line.
pub(super) fn checks(planned: &Planned, told: &Tally, counted: &Counted) -> Vec<Check> {
    // Nobody knows whether a delivery without an answer arrived; and what the first of an event's
    // deliveries is, the others are duplicates.
    let sure = told
        .acknowledged
        .saturating_sub(told.events + told.contradicted);
    let duplicates = (sure, sure + told.lost + told.retried);
    vec![
        Check::equal(
            "submissions refused for want of funds",
            planned.refused,
            told.refused,
        ),
        Check::equal(
            "submissions repeated, each the same job",
            planned.resubmitted,
            told.resubmitted,
        ),
        Check::equal("events told, by distinct id", planned.events, told.events),
        Check::equal("events accepted", told.events, counted.events),
        Check::between("duplicates absorbed", duplicates, counted.duplicates),
        Check::equal(
            "conflicts recorded",
            planned.contradicted,
            counted.conflicts,
        ),
        Check::equal("forgeries turned away", planned.forged, told.turned_away),
        Check::equal(
            "rejected deliveries on record",
            told.turned_away,
            counted.rejected,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_event_a_lost_conflict_and_an_extra_duplicate_are_seen() {
        let told = Tally {
            events: 10,
            acknowledged: 14,
            contradicted: 1,
            lost: 1,
            turned_away: 2,
            ..Tally::default()
        };
        let planned = Planned {
            events: 10,
            contradicted: 1,
            forged: 2,
            ..Planned::default()
        };
        let right = Counted {
            events: 10,
            duplicates: 3,
            conflicts: 1,
            rejected: 2,
        };
        let all_hold = |counted: Counted| {
            checks(&planned, &told, &counted)
                .iter()
                .all(|check| check.holds)
        };
        assert!(all_hold(right));
        assert!(all_hold(Counted {
            duplicates: 4,
            ..right
        }));
        for wrong in [
            Counted { events: 9, ..right },
            Counted {
                duplicates: 2,
                ..right
            },
            Counted {
                duplicates: 5,
                ..right
            },
            Counted {
                conflicts: 0,
                ..right
            },
            Counted {
                rejected: 3,
                ..right
            },
        ] {
            assert!(!all_hold(wrong), "{wrong:?}");
        }
    }
}
