//! Which database: the one in `DATABASE_URL`, or a private PostgreSQL in the data directory.

use std::path::PathBuf;

use embedded::{Cluster, Settings};
use engine::{Engine, clock::Clock, database::OpenError};
use sqlx::postgres::PgConnectOptions;

use crate::config::DataArgs;

/// A database that is up. Keep it for as long as it is used: a private PostgreSQL stops with it.
#[derive(Debug)]
pub struct Database {
    options: PgConnectOptions,
    cluster: Option<Cluster>,
}

/// Why there is no database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The private PostgreSQL.
    #[error("the private PostgreSQL cannot be used; set DATABASE_URL to use another one")]
    Private(#[from] embedded::Error),
    /// The private PostgreSQL gave an address that cannot be read.
    #[error("the private PostgreSQL has an unreadable address")]
    Address(#[source] sqlx::Error),
    /// Connecting or migrating.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is none to look at.
    #[error("there is no database in {}: name its directory with --data-dir, or its address with DATABASE_URL", .0.display())]
    Missing(PathBuf),
    /// A task of the runtime was lost.
    #[error("starting the private PostgreSQL was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl Database {
    /// Uses the database named by the settings, or starts the private one.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn open(data: &DataArgs) -> Result<Self, DatabaseError> {
        if let Some(url) = &data.database_url {
            let options = url.options().clone();
            return Ok(Self {
                options,
                cluster: None,
            });
        }
        let settings = Settings::durable(data.data_dir.join("postgres"));
        let cluster = tokio::task::spawn_blocking(|| Cluster::start(settings)).await??;
        let options = cluster.url().parse().map_err(DatabaseError::Address)?;
        Ok(Self {
            options,
            cluster: Some(cluster),
        })
    }

    /// As [`Database::open`], for commands that only look: a private PostgreSQL must be there already.
    ///
    /// # Errors
    /// [`DatabaseError`].
    pub async fn open_existing(data: &DataArgs) -> Result<Self, DatabaseError> {
        if data.database_url.is_none() && !data.data_dir.join("postgres").is_dir() {
            return Err(DatabaseError::Missing(data.data_dir.clone()));
        }
        Self::open(data).await
    }

    /// Brings the schema up to date.
    ///
    /// # Errors
    /// [`DatabaseError::Open`].
    pub async fn migrate(&self) -> Result<(), DatabaseError> {
        Ok(engine::database::migrate(&self.options).await?)
    }

    /// An engine over a new pool.
    ///
    /// # Errors
    /// [`DatabaseError::Open`].
    pub async fn engine(&self, max_connections: u32) -> Result<Engine, DatabaseError> {
        let pool = engine::database::connect(&self.options, max_connections).await?;
        Ok(Engine::new(pool, Clock::system()))
    }

    /// What to connect with.
    pub fn options(&self) -> &PgConnectOptions {
        &self.options
    }

    /// Stops a private PostgreSQL; leaves any other alone.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn close(self) -> Result<(), DatabaseError> {
        if let Some(mut cluster) = self.cluster {
            tokio::task::spawn_blocking(move || cluster.stop()).await??;
        }
        Ok(())
    }
}
