//! Sources: configured senders, the secrets their requests are checked with, and the registry the
//! receiver looks them up in.
//!
//! What stays true: a secret that does not fit its scheme is refused when it is given, so at delivery
//! time a mismatch is about the request and never about the configuration. Keys are parsed once, not
//! for each request, and no request waits for the network: published key sets are fetched by a task.

pub(crate) mod answer_api;
mod registry;
mod store;
mod vault;

use chrono::{DateTime, Utc};
use domain::{
    adapter::Adapter,
    id::{SecretId, SourceId},
    signature::{KeyError, Keys, Scheme, SecretKey},
};
use serde_json::json;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::{Engine, audit, error::StoreError};

pub use answer_api::AnswerApi;
pub use registry::{ActiveSource, SourceKeeper, Sources, SourcesError};
pub use vault::{MasterKey, MasterKeyError, VaultError};

/// Largest body accepted when nothing else is configured.
pub const DEFAULT_BODY_LIMIT_BYTES: u32 = 1 << 20;

/// What a source is set up with.
#[derive(Clone, Debug)]
pub struct NewSource {
    /// Name in the webhook URL.
    pub slug: String,
    /// Name shown to staff.
    pub name: String,
    /// How its bodies are read.
    pub adapter: Adapter,
    /// How its requests prove where they come from.
    pub scheme: Scheme,
    /// Whether its events may move live money.
    pub livemode: bool,
    /// Header of the shared value, for [`Scheme::StaticHeader`] and no other.
    pub header_name: Option<String>,
    /// The sender's account, for [`Scheme::names_account`] and no other: there one key signs for all
    /// accounts, so the signature alone does not say whose event it is.
    pub account: Option<String>,
    /// Largest age of a signed timestamp; the scheme's own when `None`.
    pub tolerance_seconds: Option<u32>,
    /// Largest body.
    pub body_limit_bytes: u32,
    /// Status of an accepted delivery: 200 or 202.
    pub ack_status: u16,
    /// Where its public keys are published.
    pub jwks_url: Option<String>,
    /// Public keys given by configuration.
    pub jwks: Option<String>,
}

impl NewSource {
    /// A source with everything else at its default.
    pub fn new(slug: &str, adapter: Adapter, scheme: Scheme) -> Self {
        Self {
            slug: slug.to_owned(),
            name: slug.to_owned(),
            adapter,
            scheme,
            livemode: false,
            header_name: None,
            account: None,
            tolerance_seconds: None,
            body_limit_bytes: DEFAULT_BODY_LIMIT_BYTES,
            ack_status: 200,
            jwks_url: None,
            jwks: None,
        }
    }

    /// Checks what can be checked without the database.
    fn check(&self) -> Result<(), SourceError> {
        let refuse = |why| Err(SourceError::Invalid(why));
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(1..=63).contains(&self.slug.len())
            || !self.slug.chars().all(legal)
            || self.slug.starts_with('-')
        {
            return refuse(
                "the slug may hold a-z, 0-9 and -, at most 63, starting with a letter or digit",
            );
        }
        if (self.scheme == Scheme::StaticHeader) != self.header_name.is_some() {
            return refuse("a header name goes with the scheme static-header, and only with it");
        }
        if self.scheme.names_account() != self.account.is_some() {
            return refuse(
                "an account goes with the scheme fal-ed25519, and only with it: any account of the sender could sign otherwise",
            );
        }
        if !(1024..=32 << 20).contains(&self.body_limit_bytes) {
            return refuse("the body limit must be from 1024 to 33554432 bytes");
        }
        if self
            .tolerance_seconds
            .is_some_and(|s| !(1..=86_400).contains(&s))
        {
            return refuse("the tolerance must be from 1 to 86400 seconds");
        }
        if !matches!(self.ack_status, 200 | 202) {
            return refuse("the status of an accepted delivery must be 200 or 202");
        }
        if self.jwks_url.is_some() && !self.scheme.takes_jwks() {
            return refuse("this scheme publishes no key set, so there is no URL to give");
        }
        if self
            .jwks_url
            .as_ref()
            .is_some_and(|url| !url.starts_with("https://") && !url.starts_with("http://"))
        {
            return refuse("the URL of the key set must start with https://");
        }
        if let Some(jwks) = &self.jwks {
            SecretKey::parse_jwks(self.scheme, jwks)?;
        }
        Ok(())
    }
}

/// Why a source cannot be set up or changed.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A setting breaks a rule.
    #[error("{0}")]
    Invalid(&'static str),
    /// Another source has the name.
    #[error("a source called {0:?} exists already; choose another slug")]
    SlugTaken(String),
    /// There is none of that name.
    #[error("there is no source called {0:?}; see `quittance source list`")]
    Unknown(String),
    /// The source has no such secret.
    #[error("source {slug:?} has no secret {secret} that is still active")]
    UnknownSecret {
        /// The source.
        slug: String,
        /// The secret.
        secret: SecretId,
    },
    /// The secret does not fit the scheme.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Sealing failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A source as it is listed. Secrets are named, never shown.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// Its id.
    pub id: SourceId,
    /// Name in the webhook URL.
    pub slug: String,
    /// Name shown to staff.
    pub name: String,
    /// How its bodies are read.
    pub adapter: Adapter,
    /// How its requests prove where they come from.
    pub scheme: Scheme,
    /// Whether its events may move live money.
    pub livemode: bool,
    /// Header of the shared value.
    pub header_name: Option<String>,
    /// The sender's account.
    pub account: Option<String>,
    /// Largest age of a signed timestamp.
    pub tolerance_seconds: u32,
    /// Largest body.
    pub body_limit_bytes: u32,
    /// Status of an accepted delivery.
    pub ack_status: u16,
    /// Where its public keys are published.
    pub jwks_url: Option<String>,
    /// Public keys, configured or fetched.
    pub jwks: Option<String>,
    /// When they were fetched.
    pub jwks_fetched_at: Option<DateTime<Utc>>,
    /// When it was set up.
    pub created_at: DateTime<Utc>,
    /// Since when its deliveries are refused.
    pub disabled_at: Option<DateTime<Utc>>,
}

/// A secret as it is listed.
#[derive(Clone, Debug)]
pub struct SecretRow {
    /// Its id.
    pub id: SecretId,
    /// The source it verifies.
    pub source: SourceId,
    /// When it was added.
    pub created_at: DateTime<Utc>,
    /// When it stops verifying.
    pub expires_at: Option<DateTime<Utc>>,
}

impl Engine {
    /// Sets up a source. It accepts nothing until it has a secret or a key set.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn add_source(&self, new: &NewSource, actor: &str) -> Result<SourceId, SourceError> {
        new.check()?;
        let id = SourceId(self.mint());
        let mut tx = self.begin().await?;
        store::insert_source(&mut tx, id, new, self.clock().now()).await?;
        let detail = json!({
            "adapter": new.adapter, "scheme": new.scheme, "livemode": new.livemode,
            "body_limit_bytes": new.body_limit_bytes, "ack_status": new.ack_status,
        });
        self.note(&mut tx, actor, "source.add", &new.slug, detail)
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(id)
    }

    /// Every source, by slug.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn sources(&self) -> Result<Vec<SourceRow>, StoreError> {
        store::list_sources(&mut *self.connection().await?).await
    }

    /// The source of this name.
    ///
    /// # Errors
    /// [`SourceError::Unknown`], or storage.
    pub async fn source(&self, slug: &str) -> Result<SourceRow, SourceError> {
        let mut connection = self.connection().await?;
        let found = store::find_source(&mut connection, slug).await?;
        found.ok_or_else(|| SourceError::Unknown(slug.to_owned()))
    }

    /// Secrets of a source, newest first, expired ones included.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn source_secrets(&self, source: SourceId) -> Result<Vec<SecretRow>, StoreError> {
        store::list_secrets(&mut *self.connection().await?, source).await
    }

    /// Adds a secret to a source, beside those it has: both verify until the old one is expired.
    ///
    /// # Errors
    /// [`SourceError`]; a secret that does not fit the scheme says what is wrong with it.
    pub async fn add_source_secret(
        &self,
        master: &MasterKey,
        slug: &str,
        text: &str,
        actor: &str,
    ) -> Result<SecretId, SourceError> {
        let source = self.source(slug).await?;
        let text = full_text(&source, text);
        SecretKey::parse(source.scheme, &text)?;
        let secret = SecretId(self.mint());
        let sealed = master.seal(source.id, secret, &text)?;
        let now = self.clock().now();
        let mut tx = self.begin().await?;
        // The row lock makes two additions take turns, so the limit on active keys holds.
        store::lock_source(&mut tx, source.id).await?;
        let active = store::active_secrets(&mut tx, now).await?;
        let of_source = active.iter().filter(|row| row.source == source.id);
        let mut texts = vec![text];
        for row in of_source {
            texts.push(master.open(source.id, row.id, &row.sealed)?);
        }
        Keys::parse(source.scheme, texts.iter().map(String::as_str))?;
        store::insert_secret(&mut tx, source.id, secret, &sealed, now).await?;
        let detail = json!({ "secret": secret });
        self.note(&mut tx, actor, "source.secret_add", slug, detail)
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(secret)
    }

    /// Lets a secret verify until `at` and no longer.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn expire_source_secret(
        &self,
        slug: &str,
        secret: SecretId,
        at: DateTime<Utc>,
        actor: &str,
    ) -> Result<(), SourceError> {
        let source = self.source(slug).await?;
        let now = self.clock().now();
        let at = at.max(now);
        let mut tx = self.begin().await?;
        if !store::expire_secret(&mut tx, source.id, secret, at, now).await? {
            let slug = slug.to_owned();
            return Err(SourceError::UnknownSecret { slug, secret });
        }
        let detail = json!({ "secret": secret, "expires_at": at });
        self.note(&mut tx, actor, "source.secret_expire", slug, detail)
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Refuses a source's deliveries from now on. What it sent stays.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn disable_source(&self, slug: &str, actor: &str) -> Result<(), SourceError> {
        let source = self.source(slug).await?;
        let mut tx = self.begin().await?;
        store::disable_source(&mut tx, source.id, self.clock().now()).await?;
        self.note(&mut tx, actor, "source.disable", slug, json!({}))
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>, StoreError> {
        Ok(self.pool().begin().await?)
    }

    async fn note(
        &self,
        conn: &mut PgConnection,
        actor: &str,
        action: &str,
        slug: &str,
        detail: serde_json::Value,
    ) -> Result<(), StoreError> {
        let record = audit::Record {
            operator: None,
            actor,
            request_id: None,
            action,
            object: slug,
            detail,
            reason: None,
        };
        audit::record(conn, self, &record).await
    }

    /// Keeps a key set that was fetched. One without a usable key is refused and the old one stays.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn keep_fetched_jwks(
        &self,
        source: &SourceRow,
        jwks: &str,
    ) -> Result<(), SourceError> {
        SecretKey::parse_jwks(source.scheme, jwks)?;
        let now = self.clock().now();
        store::save_jwks(&mut *self.connection().await?, source.id, jwks, now).await?;
        Ok(())
    }
}

/// A static header may be given as its value alone; what is sealed names the header too.
fn full_text(source: &SourceRow, text: &str) -> String {
    match &source.header_name {
        Some(name) if !starts_with_name(text, name) => format!("{name}: {text}"),
        _ => text.to_owned(),
    }
}

fn starts_with_name(text: &str, name: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(found, _)| found.trim().eq_ignore_ascii_case(name))
}
