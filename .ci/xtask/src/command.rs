//! Running other programs so that a person sees what runs, and why it failed.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A cargo call that is not confused by the cargo call which runs us.
///
/// `SQLX_OFFLINE` makes the query macros read the committed `.sqlx` even where a
/// `DATABASE_URL` is set for the tests.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new("cargo");
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
        .env("SQLX_OFFLINE", "true")
        .env_remove("DATABASE_URL");
    command
}

/// Runs it in view: the command line first, then its own output.
pub(crate) fn show(command: &mut Command) -> Result<()> {
    println!("\x1b[2m$ {}\x1b[0m", line(command));
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("running `{}`", line(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs it out of view and gives what it printed.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("running `{}`", line(command)))?;
    if !out.status.success() {
        let errors = String::from_utf8_lossy(&out.stderr);
        bail!(
            "`{}` failed ({}): {}",
            line(command),
            out.status,
            errors.trim()
        );
    }
    Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Whether it can be run and succeeds.
pub(crate) fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Finds a program in PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|file| file.is_file())
}

/// Whether we are root.
pub(crate) fn is_root() -> bool {
    read(Command::new("id").arg("-u")).is_ok_and(|id| id == "0")
}

fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
