//! News for open pages: how many things of a topic changed, told at most a few times a second.
//!
//! NOTIFY takes a lock that every commit of the database queues on. So nothing that settles money
//! notifies: it counts here, in memory, and [`run`] sends what was counted as one message. News that is
//! lost with the process costs a page one reload and nothing else.

mod store;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::Engine;

/// Channel of the database that news travels on, between processes too.
pub const CHANNEL: &str = "quittance";
const EVERY: Duration = Duration::from_millis(400);

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Topic {
    /// Jobs were submitted or changed state.
    Jobs,
    /// Events came in or were decided.
    Events,
    /// Deliveries came in.
    Deliveries,
    /// Settlements were posted.
    Settlements,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 4] = [
        Self::Jobs,
        Self::Events,
        Self::Deliveries,
        Self::Settlements,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Events => "events",
            Self::Deliveries => "deliveries",
            Self::Settlements => "settlements",
        }
    }
}

/// Counts of news that has not been sent yet.
#[derive(Clone, Debug, Default)]
pub struct News(Arc<[AtomicU64; 4]>);

impl News {
    /// Counts news. Cheap; call it after the commit.
    pub fn count(&self, topic: Topic, changed: usize) {
        let changed = u64::try_from(changed).unwrap_or(u64::MAX);
        self.0[topic as usize].fetch_add(changed, Ordering::Relaxed);
    }

    /// What was counted since it was last taken.
    fn take(&self) -> Vec<(Topic, u64)> {
        let taken =
            Topic::ALL.map(|topic| (topic, self.0[topic as usize].swap(0, Ordering::Relaxed)));
        taken
            .into_iter()
            .filter(|(_, changed)| *changed > 0)
            .collect()
    }
}

/// Sends what is counted until told to stop.
pub async fn run(engine: Engine, stop: CancellationToken) {
    let mut every = tokio::time::interval(EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(every.tick()).await.is_some() {
        let taken = engine.news().take();
        if taken.is_empty() {
            continue;
        }
        if let Err(error) = store::notify(engine.pool(), &taken).await {
            tracing::warn!(%error, "open pages were not told of changes");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_is_taken_once() {
        let news = News::default();
        news.count(Topic::Jobs, 2);
        news.clone().count(Topic::Jobs, 3);
        assert_eq!(news.take(), [(Topic::Jobs, 5)]);
        assert!(news.take().is_empty());
    }
}
