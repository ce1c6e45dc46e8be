//! Installing what is missing on a fresh machine.
//!
//! Everything is looked for first, so a complete machine passes in well under a second. System
//! packages need root (or sudo without a password); without it the exact command is printed and
//! nothing is changed.

mod apt;
mod browser;
mod node;
mod rust;
mod wasm;

use anyhow::{Context, Result};
use embedded::Programs;

use apt::Package;

pub(crate) use browser::chromium;
pub(crate) use wasm::{TARGET as WASM, Toolchain};

/// For `bench` and `prepare`: the database programs.
pub(crate) fn for_database() -> Result<()> {
    apt::install(&database())
}

/// For `demo`, `dev` and `front`: also Node (for wasm-opt) and the wasm target.
pub(crate) fn for_build() -> Result<Toolchain> {
    apt::install(&[database(), node::packages()].concat())?;
    after_packages()
}

/// For `test`: also Chromium, rustfmt and clippy.
pub(crate) fn for_tests() -> Result<Toolchain> {
    apt::install(&[database(), node::packages(), browser::packages()].concat())?;
    rust::components()?;
    let toolchain = after_packages()?;
    browser::download()?;
    Ok(toolchain)
}

fn after_packages() -> Result<Toolchain> {
    Programs::find().context("PostgreSQL")?;
    node::check()?;
    node::modules()?;
    wasm::target()
}

fn database() -> Vec<Package> {
    if Programs::find().is_ok() {
        return Vec::new();
    }
    vec![Package {
        name: "postgresql",
        why: "the product runs a private PostgreSQL",
    }]
}

/// Says on screen what is being installed and why.
fn say(what: &str) {
    println!("\x1b[1msetup:\x1b[0m {what}");
}
