//! What the product backend tells about a job: the provider's reference once the work is handed over,
//! and where the stored output is. Both are set once; the same again changes nothing.

use domain::{
    decide,
    id::{JobId, TenantId},
    job::State,
};
use sqlx::PgConnection;

use super::{
    store::{self, AttachConflict},
    views::{self, JobView},
};
use crate::{Engine, error::StoreError, live::Topic};

/// Why a reference or an output was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No such job of this tenant and mode.
    #[error("{0} is no job of this tenant and mode")]
    UnknownJob(JobId),
    /// No such source, or one of the other mode.
    #[error("there is no source {0:?} of this mode")]
    UnknownSource(String),
    /// Another value is on record.
    #[error("the job already has {what} {known:?}, which never changes")]
    AlreadySet {
        /// Which value.
        what: &'static str,
        /// What is on record.
        known: String,
    },
    /// Another job has that reference.
    #[error("another job has this provider reference")]
    ReferenceTaken,
    /// The job's state is against it.
    #[error("the job is {0}")]
    State(State),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Records where the work was handed over. The job counts as dispatched from then on.
///
/// # Errors
/// [`RecordError`].
pub async fn attach_reference(
    conn: &mut PgConnection,
    (tenant, livemode): (TenantId, bool),
    id: JobId,
    slug: &str,
    reference: &str,
) -> Result<JobView, RecordError> {
    let source = store::source_by_slug(conn, slug).await?;
    let source = source
        .filter(|(_, mode)| *mode == livemode)
        .map(|(source, _)| source);
    let source = source.ok_or_else(|| RecordError::UnknownSource(slug.to_owned()))?;
    let locked = store::lock(conn, (tenant, livemode), id).await?;
    let locked = locked.ok_or(RecordError::UnknownJob(id))?;
    match (&locked.provider_reference, locked.source) {
        (Some(known), of) if known != reference || of != Some(source) => {
            let (what, known) = ("provider reference", known.clone());
            return Err(RecordError::AlreadySet { what, known });
        }
        (Some(_), _) => {}
        (None, Some(other)) if other != source => {
            let (what, known) = ("source", store::slug_of(conn, other).await?);
            return Err(RecordError::AlreadySet { what, known });
        }
        (None, _) if locked.job.state == State::Blocked => {
            return Err(RecordError::State(State::Blocked));
        }
        (None, _) => {
            store::attach(conn, &locked, source, reference)
                .await
                .map_err(|error| match error {
                    AttachConflict::Taken => RecordError::ReferenceTaken,
                    AttachConflict::Store(error) => error.into(),
                })?;
        }
    }
    let job = views::find(conn, tenant, livemode, id).await?;
    job.ok_or(RecordError::UnknownJob(id))
}

/// Records where the stored output is. A job whose provider has succeeded completes by it.
///
/// # Errors
/// [`RecordError`].
pub async fn store_output(
    conn: &mut PgConnection,
    engine: &Engine,
    (tenant, livemode): (TenantId, bool),
    id: JobId,
    output: &str,
) -> Result<JobView, RecordError> {
    let locked = store::lock(conn, (tenant, livemode), id).await?;
    let locked = locked.ok_or(RecordError::UnknownJob(id))?;
    match &locked.output_reference {
        Some(known) if known != output => {
            let (what, known) = ("output", known.clone());
            return Err(RecordError::AlreadySet { what, known });
        }
        Some(_) => {}
        None if locked.job.state == State::Blocked => {
            return Err(RecordError::State(State::Blocked));
        }
        None => {
            let now = engine.clock().now();
            let next = decide::store_output(&locked.job);
            store::save(conn, &locked, &next, ("output", Some(output)), now).await?;
        }
    }
    let job = views::find(conn, tenant, livemode, id).await?;
    job.ok_or(RecordError::UnknownJob(id))
}

impl Engine {
    /// Records a provider reference in a transaction of its own, then wakes the events that waited for
    /// it. They are woken after the commit: a worker locks events before jobs, and so must we.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn attach_job_reference(
        &self,
        of: (TenantId, bool),
        id: JobId,
        slug: &str,
        reference: &str,
    ) -> Result<JobView, RecordError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        let job = attach_reference(&mut tx, of, id, slug, reference).await?;
        tx.commit().await.map_err(StoreError::from)?;
        let woken = store::wake(self.pool(), slug, reference, self.clock().now()).await;
        if let Err(error) = woken {
            // They are due again by themselves a little later.
            tracing::warn!(%error, "events that waited for a reference were not woken");
        }
        self.news().count(Topic::Jobs, 1);
        Ok(job)
    }

    /// Records an output in a transaction of its own.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn store_job_output(
        &self,
        of: (TenantId, bool),
        id: JobId,
        output: &str,
    ) -> Result<JobView, RecordError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        let job = store_output(&mut tx, self, of, id, output).await?;
        tx.commit().await.map_err(StoreError::from)?;
        self.news().count(Topic::Jobs, 1);
        Ok(job)
    }
}
