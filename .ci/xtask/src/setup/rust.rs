//! The formatter and the linter, which a minimal rustup profile leaves out.

use std::process::Command;

use anyhow::{Result, bail};

use super::say;
use crate::command::{find, show, works};

/// Adds rustfmt and clippy where they are missing.
pub(crate) fn components() -> Result<()> {
    let missing: Vec<&str> = [("rustfmt", "fmt"), ("clippy", "clippy")]
        .into_iter()
        .filter(|(_, subcommand)| !works("cargo", &[subcommand, "--version"]))
        .map(|(component, _)| component)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" and ");
    if find("rustup").is_none() {
        bail!("{names} are missing; install them in the way Rust was installed here");
    }
    say(&format!("adding {names}: the checks use them"));
    show(
        Command::new("rustup")
            .args(["component", "add"])
            .args(missing),
    )
}
