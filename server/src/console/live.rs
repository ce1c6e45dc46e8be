//! `/live?topic=jobs`: how much changed, as server-sent events. The data of each is a count.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::{Query, State},
    http::HeaderMap,
    response::{
        Sse,
        sse::{Event, KeepAlive},
    },
};
use engine::live::Topic;
use futures::{Stream, stream};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;

use super::{Console, hub::Item};
use crate::http::problem::{Kind, Problem};

/// A stream ends after this and the browser opens it again, which asks anew who is signed in.
const LIFE: Duration = Duration::from_secs(600);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
pub(super) struct Wanted {
    topic: String,
    #[serde(default)]
    after: String,
}

/// Streams news of one topic.
pub(super) async fn stream(
    State(console): State<Console>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let topic = Topic::ALL
        .into_iter()
        .find(|topic| topic.as_str() == wanted.topic);
    let topic = topic
        .ok_or_else(|| Problem::new(Kind::Invalid, "topic: there is no news of this kind."))?;
    // The browser sends the header when it connects again by itself; it is the newer of the two.
    let again = headers
        .get("last-event-id")
        .and_then(|value| value.to_str().ok());
    let (missed, receiver) = console.hub.follow(topic, again.unwrap_or(&wanted.after));
    let end = tokio::time::Instant::now() + LIFE;
    let hub = console.hub;
    let event = move |epoch: &str, item: Item| {
        let Item {
            number, changed, ..
        } = item;
        Event::default()
            .id(format!("{epoch}-{number}"))
            .data(changed.to_string())
    };
    let news = stream::unfold((missed, receiver), move |(missed, mut receiver)| {
        let hub = hub.clone();
        async move {
            if let Some(item) = missed {
                return Some((Ok(event(&hub.epoch, item)), (None, receiver)));
            }
            loop {
                let next = tokio::select! {
                    next = receiver.recv() => next,
                    () = hub.stop.cancelled() => return None,
                    () = tokio::time::sleep_until(end) => return None,
                };
                match next {
                    Ok(item) if item.topic == topic => {
                        return Some((Ok(event(&hub.epoch, item)), (None, receiver)));
                    }
                    // Too slow for all of it: what is left still says that there is something new.
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        }
    });
    Ok(Sse::new(news).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
