//! The sources the receiver knows, in memory: looked up by slug with one read lock and one clone of an
//! `Arc`, refreshed by a task. A change made elsewhere takes effect within one refresh.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use chrono::TimeDelta;
use domain::{
    adapter::Adapter,
    id::SourceId,
    signature::{Keys, Scheme, SecretKey, Tolerance},
};
use tokio_util::sync::CancellationToken;

use super::{DEFAULT_BODY_LIMIT_BYTES, MasterKey, SourceRow, VaultError, store};
use crate::{Engine, error::StoreError};

/// How long a change made by another process may take to be noticed.
const REFRESH_EVERY: Duration = Duration::from_secs(5);
/// How long a fetched key set is good.
const JWKS_GOOD_FOR: TimeDelta = TimeDelta::hours(24);
/// How often it is fetched at most when no key matched a request, so that forged requests do not become
/// a storm of fetches.
const JWKS_FETCHED_AT_MOST_EVERY: TimeDelta = TimeDelta::minutes(1);

/// A source as the receiver uses it.
#[derive(Debug)]
pub struct ActiveSource {
    /// Its id.
    pub id: SourceId,
    /// Name in the webhook URL.
    pub slug: String,
    /// How its bodies are read.
    pub adapter: Adapter,
    /// How its requests prove where they come from.
    pub scheme: Scheme,
    /// Whether its events may move live money.
    pub livemode: bool,
    /// Header of the shared value.
    pub header_name: Option<String>,
    /// The sender's account, where one key signs for all accounts of the sender.
    pub account: Option<String>,
    /// How far a signed timestamp may be off.
    pub tolerance: Tolerance,
    /// Largest body.
    pub body_limit_bytes: usize,
    /// Status of an accepted delivery.
    pub ack_status: u16,
    /// Whether deliveries are refused.
    pub disabled: bool,
    /// Active keys; `None` when there is none.
    pub keys: Option<Keys>,
    /// Set by the receiver when no key matched.
    wants_new_keys: AtomicBool,
}

impl ActiveSource {
    /// Notes that no key made a signature: the sender may have published new ones.
    pub fn no_key_matched(&self) {
        self.wants_new_keys.store(true, Ordering::Relaxed);
    }
}

/// Why the registry cannot be filled.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// Secrets were sealed with another key.
    #[error("the secrets of source {slug:?} cannot be opened")]
    Vault {
        /// The source.
        slug: String,
        /// What is wrong.
        #[source]
        source: VaultError,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

type BySlug = HashMap<String, Arc<ActiveSource>>;

/// The sources the receiver knows, and nothing else: no way from here to the database. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Sources(Arc<RwLock<Arc<BySlug>>>);

impl Sources {
    /// The source of this name.
    pub fn find(&self, slug: &str) -> Option<Arc<ActiveSource>> {
        self.known().get(slug).cloned()
    }

    /// The largest body that any source may send, in bytes.
    pub fn largest_body_bytes(&self) -> usize {
        let known = self.known();
        let largest = known.values().map(|source| source.body_limit_bytes).max();
        largest.unwrap_or(DEFAULT_BODY_LIMIT_BYTES as usize)
    }

    fn known(&self) -> Arc<BySlug> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Keeps the registry true to the database.
#[derive(Clone, Debug)]
pub struct SourceKeeper {
    engine: Engine,
    master: MasterKey,
    sources: Sources,
}

impl SourceKeeper {
    /// Loads every source.
    ///
    /// # Errors
    /// [`SourcesError`]; a wrong master key is noticed here, before the first request.
    pub async fn load(engine: Engine, master: MasterKey) -> Result<Self, SourcesError> {
        let keeper = Self {
            engine,
            master,
            sources: Sources::default(),
        };
        keeper.refresh().await?;
        Ok(keeper)
    }

    /// The registry it keeps.
    pub fn sources(&self) -> Sources {
        self.sources.clone()
    }

    /// Reads every source again.
    ///
    /// # Errors
    /// [`SourcesError`]; what was known before stays.
    pub async fn refresh(&self) -> Result<(), SourcesError> {
        let now = self.engine.clock().now();
        let mut connection = self.engine.connection().await?;
        let rows = store::list_sources(&mut connection).await?;
        let mut secrets: HashMap<SourceId, Vec<_>> = HashMap::new();
        for row in store::active_secrets(&mut connection, now).await? {
            secrets.entry(row.source).or_default().push(row);
        }
        drop(connection);
        let before = self.sources.known();
        let mut fresh = BySlug::with_capacity(rows.len());
        for row in rows {
            let sealed = secrets.remove(&row.id).unwrap_or_default();
            let slug = row.slug.clone();
            let opened = sealed.iter().map(|secret| {
                self.master
                    .open(row.id, secret.id, &secret.sealed)
                    .map_err(|source| SourcesError::Vault {
                        slug: slug.clone(),
                        source,
                    })
            });
            let opened: Vec<_> = opened.collect();
            if before.is_empty()
                && opened.iter().any(Result::is_err)
                && opened.iter().all(Result::is_err)
            {
                // At the start this is the wrong master key, and better said than served.
                opened.into_iter().collect::<Result<Vec<_>, _>>()?;
                continue;
            }
            let texts: Vec<_> = opened.into_iter().filter_map(told).collect();
            let active = activate(row, &texts);
            if let Some(known) = before.get(&slug) {
                active.wants_new_keys.store(
                    known.wants_new_keys.load(Ordering::Relaxed),
                    Ordering::Relaxed,
                );
            }
            fresh.insert(slug, Arc::new(active));
        }
        *self
            .sources
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
        Ok(())
    }

    /// Refreshes until told to stop. A failure is logged and tried again; what was known stays in use.
    pub async fn keep_fresh(&self, stop: CancellationToken) {
        let mut every = tokio::time::interval(REFRESH_EVERY);
        every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(every.tick()).await.is_some() {
            if let Err(error) = self.refresh().await {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%error, cause, "sources could not be refreshed; the known ones stay in use");
            }
        }
    }

    /// Sources whose key set is to be fetched now: never fetched, older than a day, or asked for by a
    /// request no key matched (at most once a minute).
    ///
    /// # Errors
    /// When storage fails.
    pub async fn jwks_due(&self) -> Result<Vec<SourceRow>, StoreError> {
        let now = self.engine.clock().now();
        let known = self.sources.known();
        let due = |row: &SourceRow| {
            let asked = |slug| {
                known
                    .get(slug)
                    .is_some_and(|s| s.wants_new_keys.load(Ordering::Relaxed))
            };
            row.disabled_at.is_none()
                && row.jwks_url.is_some()
                && row.jwks_fetched_at.is_none_or(|at| {
                    now - at >= JWKS_GOOD_FOR
                        || (asked(&row.slug) && now - at >= JWKS_FETCHED_AT_MOST_EVERY)
                })
        };
        let mut rows = self.engine.sources().await?;
        rows.retain(due);
        for row in &rows {
            if let Some(source) = known.get(&row.slug) {
                source.wants_new_keys.store(false, Ordering::Relaxed);
            }
        }
        Ok(rows)
    }
}

/// A secret that opens. One that does not was changed behind our back: it is left out and logged, and
/// neither the others nor other sources suffer from it.
fn told(opened: Result<String, SourcesError>) -> Option<String> {
    opened
        .inspect_err(|error| {
            let cause = std::error::Error::source(error).map(ToString::to_string);
            tracing::error!(%error, cause, "a secret is left out");
        })
        .ok()
}

/// Parses the keys. They were checked when they were given, so one that fails here was changed behind
/// our back: it is left out and logged, and the others go on verifying.
fn activate(row: SourceRow, texts: &[String]) -> ActiveSource {
    let unusable = |error: &dyn std::error::Error| {
        tracing::error!(source = row.slug, %error, "a key of the source cannot be used");
    };
    let mut keys = Vec::new();
    for text in texts {
        match SecretKey::parse(row.scheme, text) {
            Ok(key) => keys.push(key),
            Err(error) => unusable(&error),
        }
    }
    if let Some(jwks) = &row.jwks {
        match SecretKey::parse_jwks(row.scheme, jwks) {
            Ok(published) => keys.extend(published),
            Err(error) => unusable(&error),
        }
    }
    let keys = if keys.is_empty() {
        None
    } else {
        Keys::new(keys).inspect_err(|error| unusable(error)).ok()
    };
    ActiveSource {
        id: row.id,
        adapter: row.adapter,
        scheme: row.scheme,
        livemode: row.livemode,
        header_name: row.header_name,
        account: row.account,
        tolerance: Tolerance::seconds(row.scheme, row.tolerance_seconds),
        body_limit_bytes: usize::try_from(row.body_limit_bytes).unwrap_or(usize::MAX),
        ack_status: row.ack_status,
        disabled: row.disabled_at.is_some(),
        keys,
        slug: row.slug,
        wants_new_keys: AtomicBool::new(false),
    }
}
