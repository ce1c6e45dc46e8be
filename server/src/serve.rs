//! The server: assembled from settings, run until told to stop, stopped in order.
//!
//! Order of stopping: no new connections; open requests finish (bounded by the grace period); the
//! background tasks finish the batch they are in; a private PostgreSQL is shut down last.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use chrono::TimeDelta;
use engine::{
    Engine,
    inbox::{Flushed, InboxWriter, WriterSettings},
    live::Topic,
    source::{MasterKeyError, SourceKeeper, SourcesError},
    worker::{self, Wake},
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::{
    ask::{self, Asker},
    config::{Role, ServeArgs},
    console::{self, hub::Hub},
    database::{Database, DatabaseError},
    http::{
        self,
        problem::{Kind, Problem},
        webhooks::{self, Receiver, ReceiverError},
    },
    jwks, telemetry,
};

/// Why the server cannot run, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No database.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {0}: is another server running there? Choose another with --listen or --metrics"
    )]
    Listen(SocketAddr, #[source] io::Error),
    /// Signals cannot be awaited, or connections not be accepted.
    #[error("the operating system refused")]
    System(#[from] io::Error),
    /// The key that secrets are sealed with.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// The sources.
    #[error(transparent)]
    Sources(#[from] SourcesError),
    /// The receiver.
    #[error(transparent)]
    Receiver(#[from] ReceiverError),
    /// There is no HTTP client to ask providers with.
    #[error("providers cannot be asked")]
    Asker(#[from] reqwest::Error),
    /// A part of the server ended on its own.
    #[error("a part of the server ended unexpectedly")]
    Task(#[from] tokio::task::JoinError),
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    engine: Engine,
    stop: CancellationToken,
    tasks: JoinSet<Result<(), ServeError>>,
    grace: Duration,
    database: Database,
}

/// What the routes and tasks of every role are made of.
struct Parts<'a> {
    args: &'a ServeArgs,
    engine: &'a Engine,
    stop: &'a CancellationToken,
    /// Cancelled when the last request is answered.
    served: &'a CancellationToken,
    wake: Wake,
}

impl Server {
    /// Opens and migrates the database, and starts the roles.
    ///
    /// # Errors
    /// [`ServeError`].
    pub async fn start(args: &ServeArgs) -> Result<Self, ServeError> {
        let database = Database::open(&args.data).await?;
        database.migrate().await?;
        let overdue = TimeDelta::minutes(args.uncertain_minutes.into());
        let engine = database
            .engine(args.max_connections)
            .await?
            .with_overdue(overdue);
        let listener = TcpListener::bind(args.listen)
            .await
            .map_err(|error| ServeError::Listen(args.listen, error))?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let served = CancellationToken::new();
        let mut tasks = JoinSet::new();

        let parts = Parts {
            args,
            engine: &engine,
            stop: &stop,
            served: &served,
            wake: Wake::default(),
        };
        let mut routes = Router::new()
            .merge(http::ops::routes(engine.clone()))
            .merge(http::problem::routes());
        // What is sent and what is asked for is stored by the same writer.
        let stores = args.has(Role::Receiver) || args.has(Role::Console);
        let inbox = stores.then(|| parts.inbox(&mut tasks));
        if let Some(inbox) = inbox.clone().filter(|_| args.has(Role::Receiver)) {
            routes = routes.merge(parts.receiver(&mut tasks, inbox).await?);
        }
        routes = parts.roles(routes, &mut tasks, inbox)?;

        let routes = http::behind_proxies(http::layered(routes), args.proxies);
        let service = routes.into_make_service_with_connect_info::<SocketAddr>();
        if let Some(address) = args.metrics {
            serve_metrics(address, &stop, &mut tasks).await?;
        }
        let stopped = stop.clone().cancelled_owned();
        tasks.spawn(async move {
            let _served = served.drop_guard();
            Ok(axum::serve(listener, service)
                .with_graceful_shutdown(stopped)
                .await?)
        });
        tasks.spawn(upkeep(stop.clone()));
        let grace = args.grace();
        Ok(Self {
            address,
            engine,
            stop,
            tasks,
            grace,
            database,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Runs until a signal asks to stop or a part fails; then stops in order.
    ///
    /// # Errors
    /// What the failed part said.
    pub async fn run(mut self) -> Result<(), ServeError> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let ended = tokio::select! {
            _ = terminate.recv() => Ok(()),
            _ = interrupt.recv() => Ok(()),
            Some(ended) = self.tasks.join_next() => ended.map_err(ServeError::from).flatten(),
        };
        tracing::info!("stopping");
        let stopped = self.stop().await;
        ended.and(stopped)
    }

    /// Stops in order.
    ///
    /// # Errors
    /// What a part said while it stopped.
    pub async fn stop(mut self) -> Result<(), ServeError> {
        self.stop.cancel();
        let mut result = Ok(());
        let drained = async {
            while let Some(ended) = self.tasks.join_next().await {
                result = std::mem::replace(&mut result, Ok(()))
                    .and(ended.map_err(ServeError::from).flatten());
            }
        };
        if tokio::time::timeout(self.grace, drained).await.is_err() {
            tracing::warn!("the grace period is over; ending what is still open");
            self.tasks.shutdown().await;
        }
        self.engine.pool().close().await;
        self.database.close().await?;
        result
    }
}

impl Parts<'_> {
    /// The inbox writer. It is drained after the last request is answered.
    fn inbox(&self, tasks: &mut JoinSet<Result<(), ServeError>>) -> InboxWriter {
        let (wake, news) = (self.wake.clone(), self.engine.news().clone());
        let on_flush = move |flushed: Flushed| {
            if flushed.events > 0 {
                wake.all();
                news.count(Topic::Events, flushed.events);
            }
            news.count(Topic::Deliveries, flushed.deliveries);
        };
        let pool = self.engine.pool().clone();
        let settings = WriterSettings {
            rows_per_flush: self.args.flush_rows.into(),
            ..WriterSettings::default()
        };
        let (inbox, writer) = InboxWriter::start(pool, settings, on_flush);
        let served = self.served.clone();
        tasks.spawn(async move {
            served.cancelled().await;
            writer.drain().await;
            Ok(())
        });
        inbox
    }

    /// The receiver's routes, and what keeps its sources fresh.
    async fn receiver(
        &self,
        tasks: &mut JoinSet<Result<(), ServeError>>,
        inbox: InboxWriter,
    ) -> Result<Router, ServeError> {
        let engine = self.engine.clone();
        let keeper = SourceKeeper::load(engine.clone(), self.args.data.master_key()?).await?;
        let receiver = Receiver::new(keeper.sources(), inbox, engine.clock().clone())?;
        let (fresh, stop) = (keeper.clone(), self.stop.clone());
        tasks.spawn(async move {
            fresh.keep_fresh(stop).await;
            Ok(())
        });
        let stop = self.stop.clone();
        tasks.spawn(async move {
            jwks::run(engine, keeper, stop).await;
            Ok(())
        });
        Ok(webhooks::routes(receiver))
    }

    /// Adds the routes and tasks of the other roles this process has. Workers take smaller batches while
    /// deliveries wait in `inbox`.
    fn roles(
        &self,
        mut routes: Router,
        tasks: &mut JoinSet<Result<(), ServeError>>,
        inbox: Option<InboxWriter>,
    ) -> Result<Router, ServeError> {
        let Self {
            args, engine, stop, ..
        } = self;
        if args.has(Role::Api) {
            routes = routes.merge(http::api::routes(
                (*engine).clone(),
                args.api_rate_per_second,
            ));
        }
        if let Some(inbox) = inbox.clone().filter(|_| args.has(Role::Console)) {
            let asker = Asker::new((*engine).clone(), inbox, args.data.clone(), ask::TIME_LIMIT)?;
            let hub = Arc::new(Hub::new(engine, (*stop).clone()));
            routes = routes.merge(console::routes(args, engine, &hub, asker));
            let engine = (*engine).clone();
            tasks.spawn(async move {
                hub.run(engine).await;
                Ok(())
            });
        }
        if !args.has(Role::Console) {
            routes = routes.fallback(async || {
                Problem::new(Kind::NotFound, "This process serves no such path.")
            });
        }
        if args.has(Role::Worker) || args.has(Role::Scheduler) {
            let mut settings = worker::Settings {
                checkpoint: worker::checkpoint_from_environment(),
                ..worker::Settings::default()
            };
            if !args.has(Role::Worker) {
                settings.settlers = 0;
            }
            if args.has(Role::Scheduler) && args.reconcile_minutes > 0 {
                let minutes = u64::from(args.reconcile_minutes);
                settings.reconcile_every = Some(Duration::from_secs(60 * minutes));
            }
            if args.has(Role::Scheduler) {
                settings.seal_every = Some(worker::seal::EVERY);
            }
            if let Some(inbox) = inbox {
                settings.busy = Arc::new(move || inbox.depth() > 0);
            }
            let mut workers = worker::spawn(engine, &settings, &self.wake, stop);
            tasks.spawn(async move {
                while let Some(ended) = workers.join_next().await {
                    ended?;
                }
                Ok(())
            });
        }
        let news = engine::live::run((*engine).clone(), (*stop).clone());
        tasks.spawn(async move {
            news.await;
            Ok(())
        });
        Ok(routes)
    }
}

/// Serves the metrics on an address of their own.
async fn serve_metrics(
    address: SocketAddr,
    stop: &CancellationToken,
    tasks: &mut JoinSet<Result<(), ServeError>>,
) -> Result<(), ServeError> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| ServeError::Listen(address, error))?;
    tracing::info!(address = %listener.local_addr()?, "metrics");
    let routes = http::ops::metrics_routes(telemetry::metrics());
    let stopped = stop.clone().cancelled_owned();
    tasks.spawn(async move {
        Ok(axum::serve(listener, routes)
            .with_graceful_shutdown(stopped)
            .await?)
    });
    Ok(())
}

/// Keeps the metrics' histograms small.
async fn upkeep(stop: CancellationToken) -> Result<(), ServeError> {
    let metrics = telemetry::metrics();
    let mut every = tokio::time::interval(Duration::from_secs(5));
    while stop.run_until_cancelled(every.tick()).await.is_some() {
        metrics.run_upkeep();
    }
    Ok(())
}
