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
/// How slowly the floor rises towards what is measured: a share of the difference a flush.
const RISE: u64 = 256;

/// How many flushers are at work, and the commit cost that decides it.
///
/// The cost is what the quickest flushes of late took. An average would also count how long a flush
/// waited for a processor: on a busy machine it would call for more flushers, which would keep the
/// machine busier and make each commit carry fewer deliveries.
pub(super) struct Pace {
    /// Falls at once to the quickest flush, rises slowly.
    floor_us: AtomicU64,
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
            floor_us: AtomicU64::new(0),
            awake,
            most,
        }
    }

    pub(super) fn learn(&self, took: Duration, rows: usize) {
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let commit_us = took_us.saturating_sub(rows as u64 * ROW_COST_US);
        let floor_us = floor(self.floor_us.load(Ordering::Relaxed), commit_us);
        self.floor_us.store(floor_us, Ordering::Relaxed);
        let wanted = flushers_for(floor_us).min(self.most);
        self.awake
            .send_if_modified(|awake| std::mem::replace(awake, wanted) != wanted);
        metrics::histogram!("inbox_flush_seconds").record(took.as_secs_f64());
        metrics::histogram!("inbox_flush_rows").record(u32::try_from(rows).unwrap_or(u32::MAX));
        metrics::gauge!("inbox_flushers").set(u32::try_from(wanted).unwrap_or(u32::MAX));
    }
}

/// The floor after one more flush.
fn floor(before_us: u64, commit_us: u64) -> u64 {
    let rise = commit_us.saturating_sub(before_us).div_ceil(RISE);
    (before_us + rise).min(commit_us)
}

/// Two up to 1000 µs, then one more for each 200 µs, up to eight.
fn flushers_for(commit_us: u64) -> usize {
    let more = usize::try_from(commit_us.saturating_sub(800) / 200).unwrap_or(MAX_FLUSHERS);
    (MIN_FLUSHERS + more).min(MAX_FLUSHERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_commits_get_more_flushers() {
        let flushers: Vec<_> = [0, 85, 300, 999, 1000, 1400, 2000, 5000]
            .map(flushers_for)
            .into();
        assert_eq!(flushers, [2, 2, 2, 2, 3, 5, 8, 8]);
    }

    #[test]
    fn a_slow_disk_is_believed_and_a_busy_processor_is_not() {
        let after = |flushes: &mut dyn Iterator<Item = u64>| flushes.fold(0, floor);
        assert_eq!(after(&mut std::iter::repeat_n(1500, 4000)), 1500);
        // One flush in sixteen got through at once: the disk is not what the others waited for.
        let mut crowded = (0..4000).map(|n| if n % 16 == 0 { 300 } else { 5000 });
        assert!(after(&mut crowded) < 1000);
    }

    #[test]
    fn half_of_the_pool_is_left_to_others() {
        assert_eq!([1, 4, 8, 24, 1000].map(most_flushers), [1, 2, 4, 8, 8]);
    }
}
