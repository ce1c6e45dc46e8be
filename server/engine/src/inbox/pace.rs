//! How many flushers are at work: two keep a fast disk busy, a slow one needs more commits in flight.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use tokio::sync::watch;

/// Fewest flushers at work.
pub(super) const MIN_FLUSHERS: usize = 2;
/// Most flushers at work.
pub(super) const MAX_FLUSHERS: usize = 8;
/// What a row adds to a flush, taken off its duration to see the cost of the commit.
const ROW_COST_US: u64 = 20;

/// How many flushers are at work, and the commit cost that decides it.
pub(super) struct Pace {
    /// Moving average.
    commit_us: AtomicU64,
    pub(super) awake: watch::Sender<usize>,
    most: usize,
}

/// Most flushers that may work over a pool of this size: each keeps a connection, and at least half of
/// the pool is left to everyone else.
pub(super) fn most_flushers(connections: u32) -> usize {
    usize::try_from(connections / 2)
        .unwrap_or(MAX_FLUSHERS)
        .clamp(1, MAX_FLUSHERS)
}

impl Pace {
    pub(super) fn new(awake: watch::Sender<usize>, most: usize) -> Self {
        Self {
            commit_us: AtomicU64::new(0),
            awake,
            most,
        }
    }

    pub(super) fn learn(&self, took: Duration, rows: usize) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let commit_us = took_us.saturating_sub(rows as u64 * ROW_COST_US);
        let before = self.commit_us.load(Ordering::Relaxed);
        let average = before - before / 16 + commit_us / 16;
        self.commit_us.store(average, Ordering::Relaxed);
        let wanted = flushers_for(average).min(self.most);
        self.awake
            .send_if_modified(|awake| std::mem::replace(awake, wanted) != wanted);
        metrics::histogram!("inbox_flush_seconds").record(took.as_secs_f64());
        metrics::histogram!("inbox_flush_rows").record(u32::try_from(rows).unwrap_or(u32::MAX));
        metrics::gauge!("inbox_flushers").set(u32::try_from(wanted).unwrap_or(u32::MAX));
    }
}

/// Two up to 600 µs, then one more for each 200 µs, up to eight.
fn flushers_for(commit_us: u64) -> usize {
    let more = usize::try_from(commit_us.saturating_sub(400) / 200).unwrap_or(MAX_FLUSHERS);
    (MIN_FLUSHERS + more).min(MAX_FLUSHERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_commits_get_more_flushers() {
        let flushers: Vec<_> = [0, 85, 300, 599, 600, 1000, 1600, 5000]
            .map(flushers_for)
            .into();
        assert_eq!(flushers, [2, 2, 2, 2, 3, 5, 8, 8]);
    }

    #[test]
    fn half_of_the_pool_is_left_to_others() {
        assert_eq!([1, 4, 8, 24, 1000].map(most_flushers), [1, 2, 4, 8, 8]);
    }
}
