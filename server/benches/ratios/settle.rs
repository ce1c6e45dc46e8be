//! G5 to G8: settled jobs a second.

use std::time::{Duration, Instant};

use engine::{
    Engine,
    clock::Clock,
    database,
    worker::{self, Settings, Wake},
};
use sqlx::{ConnectOptions as _, PgConnection, postgres::PgConnectOptions};
use tokio_util::sync::CancellationToken;

use crate::{
    Cluster, Failure, Options, fail,
    pgbench::{self, Extent},
    report::{Line, Target, median},
};

const FILL: &str = include_str!("sql/fill.sql");
const ONE_BY_ONE: &str = include_str!("sql/one_by_one.sql");
const IN_SETS: &str = include_str!("sql/in_sets.sql");
const CHECK: &str = include_str!("sql/check.sql");

/// Wallets of a cell whose jobs are spread.
const MANY: u32 = 2000;
/// Jobs each pgbench client settles one by one.
const EACH: u32 = 200;
/// Clients that settle one by one.
const CLIENTS: u32 = 32;

/// Rates of one repetition, in settled jobs a second.
#[derive(Default)]
struct Cells {
    product_many: Vec<f64>,
    product_hot: Vec<f64>,
    product_repeats: Vec<f64>,
    one_by_one_many: Vec<f64>,
    one_by_one_hot: Vec<f64>,
    in_sets_many: Vec<f64>,
}

/// What did not add up, over all cells of the product.
#[derive(Default)]
struct Wrong {
    missing: i64,
    broken: i64,
}

/// Measures every cell, interleaved.
pub(crate) async fn measure(options: &Options, cluster: &Cluster) -> Result<Vec<Line>, Failure> {
    let mut cells = Cells::default();
    let mut wrong = Wrong::default();
    for repetition in 1..=options.repetitions {
        eprintln!("settle: repetition {repetition} of {}", options.repetitions);
        let jobs = options.jobs;
        cells.one_by_one_many.push(one_by_one(cluster, MANY).await?);
        cells
            .product_many
            .push(product(cluster, jobs, MANY, 0, &mut wrong).await?);
        cells.in_sets_many.push(in_sets(cluster, jobs, MANY).await?);
        cells
            .product_repeats
            .push(product(cluster, jobs, MANY, 20, &mut wrong).await?);
        cells.one_by_one_hot.push(one_by_one(cluster, 1).await?);
        cells
            .product_hot
            .push(product(cluster, jobs, 1, 0, &mut wrong).await?);
    }
    killed(cluster, options.jobs, &mut wrong).await?;
    Ok(lines(cells, &wrong))
}

fn lines(cells: Cells, wrong: &Wrong) -> Vec<Line> {
    let line = |goal, what: &str, ours, reference, target| Line {
        goal,
        what: what.to_owned(),
        ours,
        reference,
        target,
    };
    let many = median(cells.product_many);
    let hot = median(cells.product_hot);
    vec![
        line(
            "G5",
            "settle, many wallets / one-job transactions, 32 clients",
            many,
            median(cells.one_by_one_many),
            Target::AtLeast(4.0),
        ),
        line(
            "G6",
            "settle, many wallets / bare set-based SQL, 2 clients",
            many,
            median(cells.in_sets_many),
            Target::AtLeast(0.8),
        ),
        line(
            "G7",
            "settle, one hot wallet / one-job transactions, 32 clients",
            hot,
            median(cells.one_by_one_hot),
            Target::AtLeast(25.0),
        ),
        line(
            "G7",
            "settle, one hot wallet / many wallets",
            hot,
            many,
            Target::AtLeast(0.8),
        ),
        line(
            "G8",
            "settle with 20 % repeated events / clean",
            median(cells.product_repeats),
            many,
            Target::AtLeast(0.9),
        ),
        line(
            "G8",
            "captures missing or doubled, all cells and a kill -9",
            wrong.missing as f64,
            0.0,
            Target::Exactly(0.0),
        ),
        line(
            "G8",
            "balances that differ from their transfers",
            wrong.broken as f64,
            0.0,
            Target::Exactly(0.0),
        ),
    ]
}

/// Fills a database and returns how to reach it.
pub(crate) async fn filled(
    cluster: &Cluster,
    name: &str,
    jobs: u32,
    wallets: u32,
    repeats: u32,
) -> Result<PgConnectOptions, Failure> {
    let options = cluster.create(name).await?;
    let script = FILL
        .replace(":jobs", &jobs.to_string())
        .replace(":wallets", &wallets.to_string())
        .replace(":repeats", &repeats.to_string());
    let (script, _) = script.split_once("VACUUM ANALYZE").unwrap_or((&script, ""));
    let mut connection = options.connect().await?;
    sqlx::raw_sql(sqlx::AssertSqlSafe(script.to_owned()))
        .execute(&mut connection)
        .await?;
    sqlx::raw_sql("VACUUM ANALYZE")
        .execute(&mut connection)
        .await?;
    sqlx::raw_sql("CHECKPOINT").execute(&mut connection).await?;
    Ok(options)
}

/// The same writes as plain one-job transactions.
async fn one_by_one(cluster: &Cluster, wallets: u32) -> Result<f64, Failure> {
    let name = "quittance_bench_settle";
    filled(cluster, name, CLIENTS * EACH, wallets, 0).await?;
    let variables = [("k", "0".to_owned()), ("stride", EACH.to_string())];
    let rate = pgbench::run(
        &cluster.url(name),
        ONE_BY_ONE,
        CLIENTS,
        Extent::Each(EACH),
        &variables,
    )?;
    cluster.drop(name).await?;
    Ok(rate.per_second)
}

/// The same writes as one statement a batch.
async fn in_sets(cluster: &Cluster, jobs: u32, wallets: u32) -> Result<f64, Failure> {
    let (name, batch) = ("quittance_bench_settle", 500);
    filled(cluster, name, jobs, wallets, 0).await?;
    let variables = [("batch", batch.to_string())];
    let rate = pgbench::run(
        &cluster.url(name),
        IN_SETS,
        2,
        Extent::Each(jobs / batch / 2),
        &variables,
    )?;
    cluster.drop(name).await?;
    Ok(rate.per_second * f64::from(batch))
}

/// The product's own workers, until nothing is due.
async fn product(
    cluster: &Cluster,
    jobs: u32,
    wallets: u32,
    repeats: u32,
    wrong: &mut Wrong,
) -> Result<f64, Failure> {
    let name = "quittance_bench_settle";
    let options = filled(cluster, name, jobs, wallets, repeats).await?;
    let engine = Engine::new(database::connect(&options, 8).await?, Clock::system());
    let (stop, wake) = (CancellationToken::new(), Wake::default());
    let start = Instant::now();
    let mut workers = worker::spawn(&engine, &Settings::default(), &wake, &stop);
    let mut watch = options.connect().await?;
    settled(&mut watch, Duration::from_secs(300)).await?;
    let seconds = start.elapsed().as_secs_f64();
    stop.cancel();
    while let Some(ended) = workers.join_next().await {
        ended?;
    }
    engine.pool().close().await;
    check(&mut watch, wrong).await?;
    drop(watch);
    cluster.drop(name).await?;
    Ok(f64::from(jobs) / seconds)
}

/// Workers in a process of their own, killed in the middle and started again.
async fn killed(cluster: &Cluster, jobs: u32, wrong: &mut Wrong) -> Result<(), Failure> {
    let name = "quittance_bench_settle";
    let options = filled(cluster, name, jobs, MANY, 20).await?;
    let mut watch = options.connect().await?;
    for round in 0..2 {
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_quittance"))
            .args([
                "serve",
                "--only",
                "worker",
                "--listen",
                "127.0.0.1:0",
                "--database-url",
            ])
            .arg(cluster.url(name))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if round == 0 {
            until_captured(&mut watch, i64::from(jobs / 3)).await?;
        } else {
            settled(&mut watch, Duration::from_secs(300)).await?;
        }
        child.kill().await?;
    }
    check(&mut watch, wrong).await?;
    drop(watch);
    cluster.drop(name).await
}

async fn until_captured(watch: &mut PgConnection, count: i64) -> Result<(), Failure> {
    let limit = Instant::now() + Duration::from_secs(120);
    while Instant::now() < limit {
        let captured: i64 =
            sqlx::query_scalar("SELECT count(*) FROM settlements WHERE phase = 'capture'")
                .fetch_one(&mut *watch)
                .await?;
        if captured >= count {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fail("the workers settled nothing in two minutes".to_owned())
}

async fn settled(watch: &mut PgConnection, patience: Duration) -> Result<(), Failure> {
    let limit = Instant::now() + patience;
    while Instant::now() < limit {
        let due: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM events WHERE due_at IS NOT NULL)")
                .fetch_one(&mut *watch)
                .await?;
        if !due {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    fail(format!("events were still due after {patience:?}"))
}

async fn check(watch: &mut PgConnection, wrong: &mut Wrong) -> Result<(), Failure> {
    let (missing, broken): (i64, i64) = sqlx::query_as(CHECK).fetch_one(watch).await?;
    wrong.missing += missing.abs();
    wrong.broken += broken;
    Ok(())
}
