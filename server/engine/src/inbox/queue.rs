//! The queue in front of the database: bounded in number and in bytes, shared by all flushers.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, oneshot};

use super::{AcceptError, Accepted, Delivery};

/// A delivery and whoever waits for its commit.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) delivery: Delivery,
    pub(super) answer: oneshot::Sender<Result<Accepted, AcceptError>>,
}

/// Bounds of the queue and of one take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) deliveries: usize,
    pub(super) bytes: usize,
    pub(super) per_take: usize,
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: Bounds,
    state: Mutex<State>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Pending>,
    /// Bytes of all bodies accepted and not answered yet, those being flushed included: this is what
    /// bounds memory.
    bytes: usize,
    closed: bool,
}

impl Queue {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            state: Mutex::default(),
            ready: Notify::new(),
        }
    }

    /// Adds a delivery, unless there are too many. One body alone is never too large.
    pub(super) fn push(&self, pending: Pending) -> Result<(), AcceptError> {
        let mut state = self.state();
        if state.closed {
            return Err(AcceptError::Closed);
        }
        let bytes = pending.delivery.body.len();
        let too_many_bytes = state.bytes > 0 && state.bytes + bytes > self.bounds.bytes;
        if state.waiting.len() >= self.bounds.deliveries || too_many_bytes {
            return Err(AcceptError::Busy);
        }
        state.bytes += bytes;
        state.waiting.push_back(pending);
        drop(state);
        self.ready.notify_one();
        Ok(())
    }

    /// Waits for deliveries and takes as many as one flush may hold; `None` once the queue is closed and
    /// empty.
    pub(super) async fn take(&self) -> Option<Vec<Pending>> {
        loop {
            let ready = self.ready.notified();
            {
                let mut state = self.state();
                if !state.waiting.is_empty() {
                    let count = state.waiting.len().min(self.bounds.per_take);
                    let taken = state.waiting.drain(..count).collect();
                    if !state.waiting.is_empty() {
                        self.ready.notify_one();
                    }
                    return Some(taken);
                }
                if state.closed {
                    return None;
                }
            }
            ready.await;
        }
    }

    /// Gives back the bytes of deliveries that are answered.
    pub(super) fn release(&self, bytes: usize) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Takes nothing more in; what waits is still handed out.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Wakes every flusher that waits.
    pub(super) fn wake(&self) {
        self.ready.notify_waiters();
        self.ready.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::writer::tests::delivery;

    fn queue(deliveries: usize, bytes: usize) -> Queue {
        Queue::new(Bounds {
            deliveries,
            bytes,
            per_take: 2,
        })
    }

    fn pending(body: &'static str) -> Pending {
        Pending {
            delivery: delivery("k", body),
            answer: oneshot::channel().0,
        }
    }

    #[tokio::test]
    async fn it_is_bounded_in_number_and_bytes() {
        let few = queue(3, 1000);
        for _ in 0..3 {
            few.push(pending("1234")).unwrap();
        }
        assert_eq!(few.push(pending("1234")), Err(AcceptError::Busy));
        assert_eq!(few.take().await.unwrap().len(), 2);
        assert_eq!(few.take().await.unwrap().len(), 1);

        let small = queue(10, 6);
        small.push(pending("12345678")).unwrap();
        assert_eq!(small.push(pending("1")), Err(AcceptError::Busy));
        small.take().await.unwrap();
        assert_eq!(
            small.push(pending("1")),
            Err(AcceptError::Busy),
            "still being flushed"
        );
        small.release(8);
        small.push(pending("1")).unwrap();
    }

    #[tokio::test]
    async fn what_waits_when_it_closes_is_still_handed_out() {
        let queue = queue(10, 1000);
        queue.push(pending("1")).unwrap();
        queue.close();
        assert_eq!(queue.push(pending("1")), Err(AcceptError::Closed));
        assert_eq!(queue.take().await.unwrap().len(), 1);
        assert!(queue.take().await.is_none());
    }
}
