//! G15 and G16: reconciliation and pages over many rows.

use std::time::{Duration, Instant};

use domain::exception::{Cause, Reach};
use engine::{
    Engine, books::verify_balances, clock::Clock, database, ledger::views as ledger, page::Cursor,
    reconcile::Tally,
};
use sqlx::{ConnectOptions as _, PgConnection, postgres::PgConnectOptions};

use crate::{
    Cluster, Failure, Options, fail, memory,
    report::{Line, Target, median},
    settle,
};

const CAPTURE: &str = include_str!("sql/capture.sql");
const OFFSET: &str = include_str!("sql/offset.sql");

/// Jobs of a wallet, so that a page is as full in small books as in large ones.
const JOBS_OF_A_WALLET: u32 = 50;
/// Settlements of the small books that pages are compared with.
const SMALL: u32 = 10_000;
/// Pages read at each size.
const PAGES: usize = 300;

/// Measures runs and pages over `--rows` settlements.
pub(crate) async fn measure(options: &Options, cluster: &Cluster) -> Result<Vec<Line>, Failure> {
    let jobs = (options.rows / 2).max(10_000);
    let new = jobs / 50;
    eprintln!("recon: {jobs} jobs, and {new} at a time that are new");
    let small = pages(cluster, "quittance_bench_small", SMALL / 2).await?;
    let name = "quittance_bench_recon";
    let repetitions = u32::try_from(options.repetitions)?;
    let at = settle::filled(
        cluster,
        name,
        jobs + repetitions * new,
        jobs / JOBS_OF_A_WALLET,
        0,
    )
    .await?;
    let mut watch = at.connect().await?;
    capture(&mut watch, 1, jobs).await?;
    let engine = Engine::new(database::connect(&at, 4).await?, Clock::system());
    let mut lines = runs(&engine, &mut watch, (jobs, new), options.repetitions).await?;
    lines.push(planted(&engine, &mut watch).await?);
    let large = read_pages(&engine, &mut watch).await?;
    let offset = offset(&mut watch).await?;
    lines.extend(page_lines(&small, &large, offset));
    engine.pool().close().await;
    drop(watch);
    cluster.drop(name).await?;
    Ok(lines)
}

/// Settles jobs as the product would have.
async fn capture(watch: &mut PgConnection, first: u32, last: u32) -> Result<(), Failure> {
    let script = CAPTURE
        .replace(":first", &first.to_string())
        .replace(":last", &last.to_string());
    for statement in [script.as_str(), "VACUUM ANALYZE", "CHECKPOINT"] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
            .execute(&mut *watch)
            .await?;
    }
    Ok(())
}

async fn run(engine: &Engine, reach: Reach) -> Result<(Tally, f64), Failure> {
    let start = Instant::now();
    let tally = engine
        .reconcile(Cause::CommandLine, Some(reach), None)
        .await?;
    Ok((tally, start.elapsed().as_secs_f64()))
}

async fn runs(
    engine: &Engine,
    watch: &mut PgConnection,
    (jobs, new): (u32, u32),
    repetitions: usize,
) -> Result<Vec<Line>, Failure> {
    let (mut full, mut incremental, mut balances) = (vec![], vec![], vec![]);
    let (mut wrong, mut last) = (0, jobs);
    let before = memory::resident_mb("self")?;
    memory::forget_most()?;
    for repetition in 1..=repetitions {
        eprintln!("recon: repetition {repetition} of {repetitions}");
        let start = Instant::now();
        wrong += verify_balances(engine.pool()).await?.breaks.len();
        balances.push(start.elapsed().as_secs_f64());
        let (tally, seconds) = run(engine, Reach::Full).await?;
        wrong += tally.found;
        full.push(seconds);
        capture(watch, last + 1, last + new).await?;
        last += new;
        let (tally, seconds) = run(engine, Reach::Incremental).await?;
        if tally.reach != Reach::Incremental {
            return fail("a run of what is new looked at everything".to_owned());
        }
        wrong += tally.found;
        incremental.push(seconds);
    }
    let transfers: i64 = sqlx::query_scalar("SELECT count(*) FROM transfers")
        .fetch_one(&mut *watch)
        .await?;
    let millions = transfers as f64 / 1e6;
    let (full, incremental, balances) = (median(full), median(incremental), median(balances));
    let line = |what: &str, ours, reference, target| Line {
        goal: "G15",
        what: what.to_owned(),
        ours,
        reference,
        target,
    };
    Ok(vec![
        line(
            "memory that runs add, MB",
            memory::most_mb()? - before,
            0.0,
            Target::AtMost(32.0),
        ),
        line(
            "every balance added up, seconds / million transfers",
            balances,
            millions,
            Target::AtMost(0.2),
        ),
        line(
            "full run, every check and hash, seconds / million transfers",
            full,
            millions,
            Target::Told,
        ),
        line(
            "incremental run, 1 % new, seconds / full run",
            incremental,
            full,
            Target::AtMost(0.03),
        ),
        line(
            "found wrong in books that are right",
            wrong as f64,
            0.0,
            Target::Exactly(0.0),
        ),
    ])
}

/// Plants an error of one unit of the last digit, and looks for it.
async fn planted(engine: &Engine, watch: &mut PgConnection) -> Result<Line, Failure> {
    let plant = "UPDATE balances SET balance = balance + 0.000000001
                 WHERE account_id = (SELECT account_id FROM accounts WHERE kind = 'revenue' LIMIT 1)";
    sqlx::raw_sql(plant).execute(watch).await?;
    let mut found = 0.0;
    for reach in [Reach::Incremental, Reach::Full] {
        let (tally, _) = run(engine, reach).await?;
        found += if tally.found == 2 { 1.0 } else { 0.0 };
    }
    Ok(Line {
        goal: "G15",
        what: "runs that found a planted error of the last digit / runs".to_owned(),
        ours: found,
        reference: 2.0,
        target: Target::Exactly(2.0),
    })
}

/// Times of one kind of page, in milliseconds, sorted.
type Times = Vec<f64>;

async fn pages(cluster: &Cluster, name: &str, jobs: u32) -> Result<Times, Failure> {
    let at: PgConnectOptions =
        settle::filled(cluster, name, jobs, jobs / JOBS_OF_A_WALLET, 0).await?;
    let mut watch = at.connect().await?;
    capture(&mut watch, 1, jobs).await?;
    let engine = Engine::new(database::connect(&at, 4).await?, Clock::system());
    let times = read_pages(&engine, &mut watch).await?;
    engine.pool().close().await;
    drop(watch);
    cluster.drop(name).await?;
    Ok(times)
}

/// Pages of a wallet's ledger as the console reads them, at depths spread over the whole ledger.
async fn read_pages(engine: &Engine, watch: &mut PgConnection) -> Result<Times, Failure> {
    let top: i64 = sqlx::query_scalar("SELECT max(posting_id) FROM transfers")
        .fetch_one(&mut *watch)
        .await?;
    let mut conn = engine.pool().acquire().await?;
    let wallets = ledger::wallets(&mut conn, None, None, Cursor::Newest).await?;
    let ids: Vec<_> = wallets.rows.iter().map(|line| line.wallet).collect();
    let mut times = Vec::new();
    for page in 0..PAGES {
        let Some(id) = ids.get(page % ids.len().max(1)) else {
            return fail("there are no wallets".to_owned());
        };
        let Some(wallet) = ledger::wallet(&mut conn, *id).await? else {
            return fail("a wallet is gone".to_owned());
        };
        let depth = top / PAGES as i64 * (page as i64 + 1);
        let start = Instant::now();
        ledger::entries(
            &mut conn,
            &wallet,
            &ledger::Filter::default(),
            Cursor::Older(depth),
        )
        .await?;
        times.push(milliseconds(start.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

/// One page by counting over nine tenths of the rows before it.
async fn offset(watch: &mut PgConnection) -> Result<f64, Failure> {
    let start = Instant::now();
    sqlx::raw_sql(OFFSET).execute(watch).await?;
    Ok(milliseconds(start.elapsed()))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn page_lines(small: &Times, large: &Times, offset: f64) -> Vec<Line> {
    let at = |times: &Times, percent: usize| {
        let place = times.len() * percent / 100;
        times.get(place).copied().unwrap_or(f64::INFINITY)
    };
    let line = |what: &str, ours, reference, target| Line {
        goal: "G16",
        what: what.to_owned(),
        ours,
        reference,
        target,
    };
    vec![
        line(
            "page of a ledger, p50 ms, all rows / 10k rows",
            at(large, 50),
            at(small, 50),
            Target::AtMost(1.3),
        ),
        line(
            "page of a ledger, p99 ms",
            at(large, 99),
            0.0,
            Target::AtMost(2.0),
        ),
        line(
            "the same by OFFSET over nine tenths, ms / p50",
            offset,
            at(large, 50),
            Target::AtLeast(1000.0),
        ),
    ]
}
