//! News from the database's channel, handed to every open page of this process.
//!
//! The newest messages are kept, so that a page that was paused learns what it missed. A page that was
//! away longer, or knew another process, gets news from now on; reloading shows everything anyway.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use engine::{
    Engine,
    live::{CHANNEL, Topic},
};
use sqlx::postgres::PgListener;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

const KEPT: usize = 512;
const RETRY: Duration = Duration::from_secs(2);

/// What changed, how much, and its place in the order of this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Item {
    pub(super) number: u64,
    pub(super) topic: Topic,
    pub(super) changed: u64,
}

/// Hands news to open pages.
#[derive(Debug)]
pub struct Hub {
    /// Tells this process from the one before it.
    pub(super) epoch: String,
    sender: broadcast::Sender<Item>,
    kept: Mutex<VecDeque<Item>>,
    /// Ends streams when the server stops.
    pub(super) stop: CancellationToken,
}

impl Hub {
    /// A hub that has heard nothing yet.
    pub fn new(engine: &Engine, stop: CancellationToken) -> Self {
        Self {
            epoch: engine.mint().simple().to_string(),
            sender: broadcast::Sender::new(KEPT),
            kept: Mutex::default(),
            stop,
        }
    }

    /// Listens to the channel until told to stop; a lost connection is made again.
    pub async fn run(&self, engine: Engine) {
        while !self.stop.is_cancelled() {
            if let Some(Err(error)) = self.stop.run_until_cancelled(self.listen(&engine)).await {
                tracing::warn!(%error, "news is not heard; trying again");
                self.stop
                    .run_until_cancelled(tokio::time::sleep(RETRY))
                    .await;
            }
        }
    }

    async fn listen(&self, engine: &Engine) -> Result<(), sqlx::Error> {
        let mut listener = PgListener::connect_with(engine.pool()).await?;
        listener.listen(CHANNEL).await?;
        loop {
            let message = listener.recv().await?;
            self.tell(message.payload());
        }
    }

    /// Takes `{"jobs":3}` in; what it does not know is not news.
    fn tell(&self, payload: &str) {
        let counts: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(payload).unwrap_or_default();
        for topic in Topic::ALL {
            let changed = counts
                .get(topic.as_str())
                .and_then(serde_json::Value::as_u64);
            let Some(changed) = changed.filter(|changed| *changed > 0) else {
                continue;
            };
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let number = kept.back().map_or(1, |last| last.number + 1);
            let item = Item {
                number,
                topic,
                changed,
            };
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(item);
            // Nobody listening is no fault.
            self.sender.send(item).ok();
        }
    }

    /// What a page missed since the item it saw last, and everything from now on, without a gap.
    pub(super) fn follow(
        &self,
        topic: Topic,
        last: &str,
    ) -> (Option<Item>, broadcast::Receiver<Item>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = self.sender.subscribe();
        let seen = last
            .strip_prefix(&self.epoch)
            .and_then(|rest| rest.strip_prefix('-')?.parse::<u64>().ok());
        let missed = seen.and_then(|seen| {
            let missed = kept
                .iter()
                .filter(|item| item.topic == topic && item.number > seen);
            missed.copied().reduce(|sum, item| Item {
                changed: sum.changed.saturating_add(item.changed),
                ..item
            })
        });
        (missed, receiver)
    }
}
