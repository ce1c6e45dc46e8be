//! Everything that touches PostgreSQL.
//!
//! One folder a noun: verbs in `noun.rs`, SQL in `noun/store.rs` (changes) and `noun/views.rs` (reads).
//! A function that takes `&mut PgConnection` runs in the caller's transaction; only methods of [`Engine`]
//! and the workers open one.

pub mod action;
pub mod api_key;
pub mod ask;
pub mod audit;
pub mod books;
pub mod case;
pub mod clock;
pub mod database;
pub mod delivery;
pub mod error;
pub mod event;
pub mod exception;
pub mod freeze;
pub mod ids;
pub mod inbox;
pub mod job;
pub mod jump;
pub mod ledger;
pub mod live;
pub mod operator;
pub mod overview;
pub mod page;
pub mod price;
pub mod reconcile;
pub mod saved_view;
pub mod seal;
pub mod session;
pub mod settlement;
pub mod source;
pub mod statement;
pub mod task;
pub mod tenant;
pub mod wallet;
pub mod worker;

use std::sync::Arc;

use chrono::TimeDelta;
use sqlx::{PgPool, Postgres, pool::PoolConnection};

use crate::{clock::Clock, error::StoreError, ids::Ids, live::News};

/// The migrations, embedded so that the program needs no files to set up a database.
pub static MIGRATOR: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// The handle on one installation: its database, its clock and its source of ids. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    pool: PgPool,
    clock: Clock,
    ids: Arc<Ids>,
    news: News,
    overview: Arc<overview::Memory>,
    overdue: TimeDelta,
}

impl Engine {
    /// An engine over a pool whose connections already act as the application's role.
    pub fn new(pool: PgPool, clock: Clock) -> Self {
        Self {
            pool,
            clock,
            ids: Arc::new(Ids::default()),
            news: News::default(),
            overview: Arc::default(),
            overdue: job::views::uncertain::OVERDUE,
        }
    }

    /// The same, where a job without a verdict is uncertain after so long.
    pub fn with_overdue(self, overdue: TimeDelta) -> Self {
        Self { overdue, ..self }
    }

    /// After how long a job without a verdict is uncertain.
    pub fn overdue(&self) -> TimeDelta {
        self.overdue
    }

    /// The pool.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// A connection for single statements, each its own transaction.
    pub(crate) async fn connection(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        Ok(self.pool.acquire().await?)
    }

    /// The clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Where changes are counted that open pages want to know of.
    pub fn news(&self) -> &News {
        &self.news
    }

    pub(crate) fn overview_memory(&self) -> &overview::Memory {
        &self.overview
    }

    /// Mints a time-ordered id at the engine's clock.
    pub fn mint(&self) -> uuid::Uuid {
        self.ids.mint(self.clock.now())
    }
}
