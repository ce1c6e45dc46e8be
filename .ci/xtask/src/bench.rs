//! Measuring, on a cluster that keeps its promises.

use anyhow::{Context, Result};
use embedded::{Cluster, Settings};

use crate::command::{cargo, show};
use crate::front::{self, Kind};
use crate::setup;

/// Runs the benchmark against a private PostgreSQL with fsync on, in a directory of its own.
pub(crate) fn run(args: &[String]) -> Result<()> {
    front::build(setup::for_build()?, Kind::Release)?;
    let settings = Settings::durable("target/bench-postgres");
    let mut cluster = Cluster::start(settings).context("the benchmark's PostgreSQL")?;
    let mut bench = cargo();
    bench
        .args(["bench", "--package", "server", "--bench", "ratios", "--"])
        .args(args)
        .env("DATABASE_URL", cluster.url())
        .env("PGBIN", cluster.programs().bindir());
    show(&mut bench)?;
    Ok(cluster.stop()?)
}
