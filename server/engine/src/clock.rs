//! The clock, injected so that tests decide what time it is.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};

/// Tells the time, at the microsecond PostgreSQL keeps.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Kind::System)
    }

    /// A clock that stands still until it is moved; clones move together.
    pub fn manual(start: DateTime<Utc>) -> Self {
        Self(Kind::Manual(Arc::new(AtomicI64::new(
            start.timestamp_micros(),
        ))))
    }

    /// Now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    pub fn now(&self) -> DateTime<Utc> {
        match &self.0 {
            Kind::System => Utc::now().trunc_subsecs(6),
            Kind::Manual(micros) => DateTime::from_timestamp_micros(micros.load(Ordering::SeqCst))
                .unwrap_or(DateTime::UNIX_EPOCH),
        }
    }

    /// Moves a manual clock; the machine's clock is not ours to move, so there it does nothing.
    pub fn advance(&self, by: TimeDelta) {
        if let Kind::Manual(micros) = &self.0 {
            micros.fetch_add(by.num_microseconds().unwrap_or(0), Ordering::SeqCst);
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::System => "Clock::system",
            Kind::Manual(_) => "Clock::manual",
        })
    }
}
