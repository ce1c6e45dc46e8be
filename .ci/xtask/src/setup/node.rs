//! Node, for wasm-opt and the browser tests, and the modules they need.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt::Package;
use super::say;
use crate::command::{find, read, show};

const OLDEST: u32 = 18;
const DIR: &str = "end2end";

/// Node and npm where either is missing.
pub(crate) fn packages() -> Vec<Package> {
    let node = Package {
        name: "nodejs",
        why: "wasm-opt and the browser tests run on it",
    };
    let npm = Package {
        name: "npm",
        why: "it installs wasm-opt and the browser tests' modules",
    };
    [("node", node), ("npm", npm)]
        .into_iter()
        .filter(|(program, _)| find(program).is_none())
        .map(|(_, package)| package)
        .collect()
}

/// Refuses a Node that is too old, which no package of the system would cure.
pub(crate) fn check() -> Result<()> {
    let version = read(Command::new("node").arg("--version"))?;
    let major = version.trim_start_matches('v').split('.').next();
    let major: u32 = major
        .unwrap_or_default()
        .parse()
        .context("reading node's version")?;
    if major < OLDEST {
        bail!("node {version} is too old: {OLDEST} or newer is needed");
    }
    Ok(())
}

/// Installs exactly what the lock file names, unless that was done already.
pub(crate) fn modules() -> Result<()> {
    let lock = fs::read(Path::new(DIR).join("package-lock.json"))
        .context("reading end2end/package-lock.json")?;
    let done = Path::new(DIR).join("node_modules/.installed-lock.json");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    say("installing node modules: wasm-opt (binaryen), Playwright, axe");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(DIR)
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
    show(&mut npm)?;
    fs::write(&done, lock).with_context(|| format!("writing {}", done.display()))
}
