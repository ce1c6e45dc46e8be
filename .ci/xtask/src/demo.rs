//! Running the product with demo data.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result, anyhow};

use crate::command::{cargo, show};
use crate::front::{self, Kind, SITE};
use crate::setup;

pub(crate) const SERVER: &str = "target/debug/quittance";

/// Builds everything, then becomes the product.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let toolchain = setup::for_build()?;
    front::build(toolchain, Kind::Release)?;
    build_server()?;
    println!();
    let mut demo = server()?;
    demo.arg("demo").args(args);
    // Only returns when it could not be started.
    Err(anyhow!(demo.exec())).context("starting quittance")
}

pub(crate) fn build_server() -> Result<()> {
    show(cargo().args(["build", "--bin", "quittance"]))
}

/// The product's program, told where its site is.
pub(crate) fn server() -> Result<Command> {
    let absolute = |path| std::path::absolute(path).context("resolving target");
    let mut server = Command::new(absolute(SERVER)?);
    server
        .env("LEPTOS_SITE_ROOT", absolute(SITE)?)
        .env("LEPTOS_OUTPUT_NAME", "quittance");
    Ok(server)
}
