//! Every check, in the order in which a mistake is cheapest to hear of.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use embedded::Cluster;

use crate::command::{cargo, show};
use crate::demo::{self, SERVER};
use crate::front::{self, Kind, SITE};
use crate::prepare::Queries;
use crate::steps::Steps;
use crate::{prepare, setup};

/// All checks, or only the Rust tests that match the filter.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let mut steps = Steps::new();
    if let Some(filter) = filter {
        steps.run("set-up", setup::for_database)?;
        let mut cluster = steps.run("scratch PostgreSQL", prepare::scratch)?;
        steps.run("matching tests", || tests(&cluster, Some(filter)))?;
        return Ok(cluster.stop()?);
    }

    let toolchain = steps.run("set-up", setup::for_tests)?;
    steps.run("format", || show(cargo().args(["fmt", "--all", "--check"])))?;
    let mut cluster = steps.run("scratch PostgreSQL", prepare::scratch)?;
    // One compilation serves both: it lints, and learns of each query on a live database.
    let queries = steps.run("clippy, host", || clippy_host(&cluster))?;
    steps.run("query data", || prepare::compare(&queries))?;
    steps.run("unit, engine and HTTP tests", || tests(&cluster, None))?;
    steps.run("task runner's tests", || {
        show(cargo().args(["test", "--package", "xtask"]))
    })?;
    steps.run("front end and its budgets", || {
        front::build(toolchain, Kind::Release)
    })?;
    steps.run("clippy, wasm", || clippy_wasm(toolchain))?;
    steps.run("server", demo::build_server)?;
    steps.run("browser tests", || browser(&cluster))?;
    Ok(cluster.stop()?)
}

fn clippy_host(cluster: &Cluster) -> Result<Queries> {
    let mut clippy = cargo();
    clippy.args([
        "clippy",
        "--workspace",
        "--exclude",
        "frontend",
        "--all-targets",
    ]);
    clippy.args(["--", "-D", "warnings"]);
    prepare::describe(cluster, &mut clippy)
}

/// With the wasm target where its toolchain has clippy. Debian's has none: there the same code
/// is linted for the host, and the front end's own build has compiled it for the browser.
fn clippy_wasm(toolchain: setup::Toolchain) -> Result<()> {
    let mut clippy = match toolchain {
        setup::Toolchain::Active => {
            let mut clippy = toolchain.cargo();
            clippy.args([
                "clippy",
                "--target",
                setup::WASM,
                "--profile",
                "wasm-release",
            ]);
            clippy
        }
        setup::Toolchain::Debian => {
            println!("this toolchain has no clippy for wasm: linting the same code for the host");
            let mut clippy = cargo();
            clippy.arg("clippy");
            clippy
        }
    };
    clippy.args([
        "--package",
        "frontend",
        "--package",
        "app",
        "--features",
        "app/hydrate",
    ]);
    clippy.args(["--target-dir", front::TARGET_DIR]);
    show(clippy.args(["--", "-D", "warnings"]))
}

fn tests(cluster: &Cluster, filter: Option<&str>) -> Result<()> {
    let mut test = cargo();
    test.arg("test")
        .args(filter)
        .env("DATABASE_URL", cluster.url());
    show(&mut test)
}

/// The stories start servers themselves, each on a database of its own.
fn browser(cluster: &Cluster) -> Result<()> {
    let chromium = setup::chromium().context("Chromium is missing")?;
    let absolute = |path: &str| std::path::absolute(Path::new(path)).context("resolving target");
    let mut npm = Command::new("npm");
    npm.args(["test", "--silent"])
        .current_dir("end2end")
        .env("QUITTANCE_BIN", absolute(SERVER)?)
        .env("SITE_ROOT", absolute(SITE)?)
        .env("CHROMIUM", chromium)
        .env("DATABASE_URL", cluster.url())
        .env("PGBIN", cluster.programs().bindir())
        .env("PLAYWRIGHT_HTML_OPEN", "never");
    show(&mut npm)
}
