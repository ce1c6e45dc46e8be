//! The filters of lists, as they stand in an address.

use chrono::{DateTime, Utc};
use domain::id::JobId;
use engine::{event, exception::views as exceptions, job::views::all as jobs};

use super::{Filters, day, invalid, parsed};
use crate::http::problem::Problem;

pub(super) fn jobs_of(livemode: bool, rest: &mut Filters) -> Result<jobs::Filter, Problem> {
    Ok(jobs::Filter {
        livemode,
        state: parsed(rest, "state")?,
        in_flight: parsed(rest, "in_flight")?.unwrap_or(false),
        settlement: parsed(rest, "settlement")?,
        tenant: parsed(rest, "tenant")?,
        wallet: parsed(rest, "wallet")?,
        model: parsed(rest, "model")?,
        since: day(rest, "since")?,
        until: day(rest, "until")?,
    })
}

pub(super) fn events_of(
    livemode: bool,
    rest: &mut Filters,
) -> Result<event::views::Filter, Problem> {
    Ok(event::views::Filter {
        livemode,
        state: parsed(rest, "state")?,
        attention: parsed(rest, "attention")?.unwrap_or(false),
        contradicted: parsed(rest, "contradicted")?.unwrap_or(false),
        source: parsed(rest, "source")?,
        kind: parsed(rest, "kind")?,
        job: parsed::<JobId>(rest, "job")?,
        since: day(rest, "since")?,
    })
}

/// The filter of events that an address asks for.
pub(in crate::console) fn event_filter(
    livemode: bool,
    mut filters: Filters,
) -> Result<event::views::Filter, Problem> {
    let filter = events_of(livemode, &mut filters)?;
    all_known(&filters).map(|()| filter)
}

/// The filter of exceptions that an address asks for.
pub(in crate::console) fn exception_filter(
    now: DateTime<Utc>,
    mut filters: Filters,
) -> Result<exceptions::Filter, Problem> {
    let filter = exceptions_of(now, &mut filters)?;
    all_known(&filters).map(|()| filter)
}

pub(super) fn exceptions_of(
    now: DateTime<Utc>,
    rest: &mut Filters,
) -> Result<exceptions::Filter, Problem> {
    let asks = parsed::<bool>(rest, "asks")?.unwrap_or(false);
    Ok(exceptions::Filter {
        state: parsed(rest, "state")?,
        class: parsed(rest, "class")?,
        owner: parsed(rest, "owner")?,
        asks_at: asks.then_some(now),
    })
}

/// A filter that is not known is refused: no more must be taken than was asked for.
pub(super) fn all_known(rest: &Filters) -> Result<(), Problem> {
    match rest.keys().next() {
        None => Ok(()),
        Some(unknown) => Err(invalid(format!(
            "There is no filter {unknown:?} of this list."
        ))),
    }
}
