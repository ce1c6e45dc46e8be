//! The query data (`.sqlx`) from which the query macros compile without a database.
//!
//! The macros describe each query on a live database and save what they learn, when they are
//! given its address and a directory. So: a scratch cluster with the migrations applied, and a
//! cargo call that compiles the crate again because its sources were touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use embedded::{Cluster, Settings};

use crate::command::{cargo, show};

/// The one crate that speaks SQL.
const CRATE: &str = "server/engine";
const COMMITTED: &str = "server/engine/.sqlx";
const FRESH: &str = "target/prepared";

/// File name to content.
pub(crate) type Queries = BTreeMap<String, Vec<u8>>;

/// The tests' scratch cluster, whose files stay in `target` between runs.
pub(crate) fn scratch() -> Result<Cluster> {
    Cluster::start(Settings::scratch("target/scratch-postgres")).context("the scratch PostgreSQL")
}

/// Replaces the committed data with fresh data.
pub(crate) fn write() -> Result<()> {
    let mut cluster = scratch()?;
    let mut check = cargo();
    check.args(["check", "--package", "engine", "--all-targets"]);
    let fresh = describe(&cluster, &mut check)?;
    let committed = Path::new(COMMITTED);
    if committed.exists() {
        fs::remove_dir_all(committed).context("clearing .sqlx")?;
    }
    fs::create_dir_all(committed).context("creating .sqlx")?;
    for (name, bytes) in &fresh {
        fs::write(committed.join(name), bytes).with_context(|| format!("writing {name}"))?;
    }
    println!("{COMMITTED}: {} queries", fresh.len());
    Ok(cluster.stop()?)
}

/// Fails when the committed data is not what the sources and the migrations gave a moment ago.
pub(crate) fn compare(fresh: &Queries) -> Result<()> {
    let committed = read(Path::new(COMMITTED))?;
    let names = fresh.keys().chain(committed.keys());
    let stale: BTreeSet<&String> = names
        .filter(|name| fresh.get(*name) != committed.get(*name))
        .collect();
    if !stale.is_empty() {
        bail!("{COMMITTED} is out of date ({stale:?}); run `cargo x prepare` and commit it");
    }
    println!("{COMMITTED} is current: {} queries", fresh.len());
    Ok(())
}

/// All Rust files below a directory.
fn sources(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("listing {}", dir.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// Runs a cargo call that compiles the crate, with its queries described on a live database,
/// and gives what was learnt of each.
pub(crate) fn describe(cluster: &Cluster, compile: &mut Command) -> Result<Queries> {
    let url = migrated(cluster)?;
    let fresh = std::path::absolute(FRESH).context("resolving target")?;
    if fresh.exists() {
        fs::remove_dir_all(&fresh).context("clearing target/prepared")?;
    }
    fs::create_dir_all(&fresh).context("creating target/prepared")?;
    touch(&sources(Path::new(CRATE))?)?;
    compile
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", &fresh)
        .env("DATABASE_URL", url);
    show(compile)?;
    read(&fresh)
}

/// Makes cargo compile files again that have not changed.
#[expect(
    clippy::disallowed_methods,
    reason = "cargo compares modification times with the machine's clock"
)]
fn touch(files: &[PathBuf]) -> Result<()> {
    let now = SystemTime::now();
    for path in files {
        File::options()
            .append(true)
            .open(path)
            .and_then(|file| file.set_modified(now))
            .with_context(|| format!("touching {}", path.display()))?;
    }
    Ok(())
}

/// A new database with the migrations applied, in the order of their names.
fn migrated(cluster: &Cluster) -> Result<String> {
    const NAME: &str = "prepare";
    let psql = |url: &str| {
        let mut psql = Command::new(cluster.programs().path("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--dbname", url]);
        psql
    };
    let drop = format!("DROP DATABASE IF EXISTS {NAME} WITH (FORCE)");
    let create = format!("CREATE DATABASE {NAME}");
    show_quietly(psql(&cluster.url()).args(["-c", &drop, "-c", &create]))?;
    let mut files: Vec<PathBuf> = fs::read_dir("migrations")
        .context("listing migrations")?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    let url = cluster.url_of(NAME);
    for file in files {
        show_quietly(psql(&url).arg("--file").arg(&file))
            .with_context(|| format!("applying {}", file.display()))?;
    }
    Ok(url)
}

/// Out of view, because the address holds a password.
fn show_quietly(command: &mut Command) -> Result<()> {
    let out = command
        .env("PGOPTIONS", "-c client_min_messages=warning")
        .output();
    let out = out.context("running psql")?;
    if !out.status.success() {
        bail!(
            "psql failed: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        );
    }
    Ok(())
}

fn read(dir: &Path) -> Result<Queries> {
    let mut queries = Queries::new();
    if !dir.is_dir() {
        return Ok(queries);
    }
    for entry in fs::read_dir(dir).with_context(|| format!("listing {}", dir.display()))? {
        let entry = entry?;
        let bytes = fs::read(entry.path())?;
        queries.insert(entry.file_name().to_string_lossy().into_owned(), bytes);
    }
    Ok(queries)
}
