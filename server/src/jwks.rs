//! Fetches the key sets senders publish. Never inside a request: a request that no key matched only
//! leaves a note, and a task fetches at most once a minute. When a fetch fails, the old set stays.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use domain::id::SourceId;
use engine::{
    Engine,
    source::{SourceError, SourceKeeper, SourceRow},
};
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;

use crate::outbound;

/// How often it is looked whether a fetch is due.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Pause after a fetch, also a failed one, before the next of the same source.
const FETCH_AT_MOST_EVERY: Duration = Duration::from_secs(60);
/// How long a fetch may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Largest key set that is read.
const MAX_BYTES: usize = 256 << 10;

/// Why a key set was not fetched.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("the key set could not be fetched")]
    Http(#[from] reqwest::Error),
    #[error("the key set is larger than 256 KiB")]
    TooLarge,
    #[error("the key set is not UTF-8")]
    NotText,
    #[error(transparent)]
    Refused(#[from] SourceError),
}

/// Fetches what is due until told to stop.
pub async fn run(engine: Engine, keeper: SourceKeeper, stop: CancellationToken) {
    outbound::choose_cryptography();
    let client = match reqwest::Client::builder().timeout(TIME_LIMIT).build() {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "published key sets cannot be fetched: no TLS");
            return;
        }
    };
    let mut fetched: HashMap<SourceId, Instant> = HashMap::new();
    let mut every = tokio::time::interval(LOOK_EVERY);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while stop.run_until_cancelled(every.tick()).await.is_some() {
        let due = match keeper.jwks_due().await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(%error, "it is unknown which key sets are due");
                continue;
            }
        };
        for source in due {
            let recent = fetched
                .get(&source.id)
                .is_some_and(|at| at.elapsed() < FETCH_AT_MOST_EVERY);
            if recent {
                continue;
            }
            fetched.insert(source.id, Instant::now());
            if let Err(error) = refresh(&engine, &keeper, &client, &source).await {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(source = source.slug, %error, cause, "the known key set stays in use");
            }
        }
    }
}

async fn refresh(
    engine: &Engine,
    keeper: &SourceKeeper,
    client: &reqwest::Client,
    source: &SourceRow,
) -> Result<(), FetchError> {
    let Some(url) = &source.jwks_url else {
        return Ok(());
    };
    let response = client.get(url).send().await?.error_for_status()?;
    let mut parts = response.bytes_stream();
    let mut body = Vec::new();
    while let Some(part) = parts.next().await {
        let part = part?;
        if body.len() + part.len() > MAX_BYTES {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(&part);
    }
    let jwks = String::from_utf8(body).map_err(|_| FetchError::NotText)?;
    engine.keep_fetched_jwks(source, &jwks).await?;
    if let Err(error) = keeper.refresh().await {
        tracing::warn!(%error, "the new key set is used from the next refresh on");
    }
    Ok(())
}
