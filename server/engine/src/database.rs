//! Connecting: migrations run as the owner, everything else as `quittance_app`.

use std::time::Duration;

use sqlx::{
    Executor, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{MIGRATOR, error::StoreError};

/// Why the database could not be made ready.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No connection.
    #[error(
        "cannot connect to the database: check DATABASE_URL and that PostgreSQL 15 or newer runs there"
    )]
    Connect(#[source] sqlx::Error),
    /// A migration failed.
    #[error(
        "cannot migrate the database: the role in DATABASE_URL must own it and may need CREATEROLE"
    )]
    Migrate(#[from] sqlx::migrate::MigrateError),
}

/// Brings the schema up to date. Safe to run from several processes at once.
///
/// # Errors
/// [`OpenError`].
pub async fn migrate(url: &PgConnectOptions) -> Result<(), OpenError> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(url.clone())
        .await
        .map_err(OpenError::Connect)?;
    MIGRATOR.run(&pool).await?;
    // Readiness asks which migrations are applied, and asks as the application.
    pool.execute("GRANT SELECT ON _sqlx_migrations TO quittance_app")
        .await
        .map_err(OpenError::Connect)?;
    pool.close().await;
    Ok(())
}

/// A pool whose connections act as the application's role, which cannot rewrite history.
///
/// # Errors
/// [`OpenError::Connect`].
pub async fn connect(url: &PgConnectOptions, max_connections: u32) -> Result<PgPool, OpenError> {
    PgPoolOptions::new()
        .max_connections(max_connections)
        .acquire_timeout(Duration::from_secs(5))
        .after_connect(|connection, _| {
            Box::pin(async move {
                connection.execute("SET ROLE quittance_app").await?;
                Ok(())
            })
        })
        .connect_with(url.clone())
        .await
        .map_err(OpenError::Connect)
}

/// Whether the database can be served from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// It answers and has every migration of this program.
    Ready,
    /// It answers with an older schema.
    MigrationsMissing,
}

/// Asks the database for its schema.
///
/// # Errors
/// [`StoreError`] when it does not answer.
pub async fn readiness(pool: &PgPool) -> Result<Readiness, StoreError> {
    let newest = MIGRATOR
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0);
    let applied: Option<i64> =
        sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations WHERE success")
            .fetch_one(pool)
            .await?;
    Ok(if applied.is_some_and(|applied| applied >= newest) {
        Readiness::Ready
    } else {
        Readiness::MigrationsMissing
    })
}
