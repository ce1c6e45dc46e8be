//! The answer API of a source: where its provider tells how a job stands, and the token it wants.
//!
//! What stays true: a source has at most one in use; the token is sealed like the other secrets and is
//! printed nowhere.

use std::fmt;

use domain::{
    ask::Base,
    id::{SecretId, SourceId},
};
use serde_json::json;
use sqlx::PgConnection;

use super::{MasterKey, SourceError, store, vault::Sealed};
use crate::{Engine, error::StoreError};

/// Longest token.
const MAX_TOKEN_BYTES: usize = 4096;

/// An answer API, ready to be asked.
#[derive(Clone)]
pub struct AnswerApi {
    /// Where it is.
    pub base: Base,
    /// What it wants as a bearer token.
    pub token: String,
}

impl fmt::Debug for AnswerApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerApi")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

/// An answer API as it is stored.
pub(super) struct SealedApi {
    pub(super) id: SecretId,
    pub(super) base: String,
    pub(super) sealed: Sealed,
}

impl Engine {
    /// Sets where a source's provider answers, in place of what was set before.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn set_answer_api(
        &self,
        master: &MasterKey,
        slug: &str,
        api: &AnswerApi,
        actor: &str,
    ) -> Result<(), SourceError> {
        let is_sendable = !api.token.is_empty()
            && api.token.len() <= MAX_TOKEN_BYTES
            && api.token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_sendable {
            return Err(SourceError::Invalid(
                "the token may hold visible ASCII without spaces, from 1 to 4096 characters",
            ));
        }
        let source = self.source(slug).await?;
        let id = SecretId(self.mint());
        let sealed = master.seal(source.id, id, &api.token)?;
        let now = self.clock().now();
        let mut tx = self.begin().await?;
        // The row lock makes two settings take turns.
        store::lock_source(&mut tx, source.id).await?;
        store::remove_answer_api(&mut tx, source.id, now).await?;
        let row = SealedApi {
            id,
            base: api.base.to_string(),
            sealed,
        };
        store::insert_answer_api(&mut tx, source.id, &row, now).await?;
        let detail = json!({ "base_url": row.base, "secret": id });
        self.note(&mut tx, actor, "source.answers_set", slug, detail)
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(())
    }

    /// Forgets where a source's provider answers; says whether it was known.
    ///
    /// # Errors
    /// [`SourceError`].
    pub async fn remove_answer_api(&self, slug: &str, actor: &str) -> Result<bool, SourceError> {
        let source = self.source(slug).await?;
        let mut tx = self.begin().await?;
        store::lock_source(&mut tx, source.id).await?;
        if !store::remove_answer_api(&mut tx, source.id, self.clock().now()).await? {
            return Ok(false);
        }
        self.note(&mut tx, actor, "source.answers_remove", slug, json!({}))
            .await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(true)
    }

    /// Where a source's provider answers, without the token.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn answer_base(&self, source: SourceId) -> Result<Option<String>, StoreError> {
        let mut conn = self.connection().await?;
        let found = store::find_answer_api(&mut conn, source).await?;
        Ok(found.map(|api| api.base))
    }
}

/// The answer API of a source, its token opened.
///
/// # Errors
/// [`SourceError`].
pub(crate) async fn open(
    conn: &mut PgConnection,
    master: &MasterKey,
    source: SourceId,
) -> Result<Option<AnswerApi>, SourceError> {
    let Some(found) = store::find_answer_api(conn, source).await? else {
        return Ok(None);
    };
    let base = found
        .base
        .parse()
        .map_err(|error| StoreError::inconsistent("answer_apis", "base_url", error))?;
    let token = master.open(source, found.id, &found.sealed)?;
    Ok(Some(AnswerApi { base, token }))
}
