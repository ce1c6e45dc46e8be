//! Rebuild and restart on change.
//!
//! Modification times are polled: a few hundred files take a few milliseconds, and nothing else
//! needs installing for it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};

use crate::demo;
use crate::front::{self, Kind};
use crate::setup::{self, Toolchain};

const WATCHED: [&str; 6] = [
    "Cargo.lock",
    "app",
    "frontend",
    "migrations",
    "server",
    "style",
];
const POLL: Duration = Duration::from_millis(500);
/// A server that drains takes a moment; one that hangs must not hold up its successor.
const GRACE: Duration = Duration::from_secs(15);

/// Runs until Ctrl-C.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let toolchain = setup::for_build()?;
    let serve = ["serve".to_owned()];
    let args = if args.is_empty() { &serve } else { args };
    let mut running: Option<Child> = None;
    loop {
        let seen = newest()?;
        match build(toolchain) {
            Ok(()) => {
                if let Some(old) = running.take() {
                    stop(old)?;
                }
                let mut server = demo::server()?;
                let child = server.args(args).stdin(Stdio::null()).spawn();
                running = Some(child.context("starting quittance")?);
            }
            Err(error) => println!("\n{error:#}; waiting for a change"),
        }
        while newest()? == seen {
            sleep(POLL);
        }
        println!("\nsomething changed");
    }
}

fn build(toolchain: Toolchain) -> Result<()> {
    front::build(toolchain, Kind::Debug)?;
    demo::build_server()
}

/// Asks it to drain, as a person's Ctrl-C would, then waits.
fn stop(mut child: Child) -> Result<()> {
    let pid = child.id().to_string();
    Command::new("kill")
        .args(["-TERM", &pid])
        .status()
        .context("running kill")?;
    let begun = Instant::now();
    while begun.elapsed() < GRACE {
        if child.try_wait().context("awaiting quittance")?.is_some() {
            return Ok(());
        }
        sleep(Duration::from_millis(50));
    }
    println!("it did not stop in {} s: ending it", GRACE.as_secs());
    child.kill().context("ending quittance")?;
    child.wait().context("awaiting quittance").map(drop)
}

/// The newest modification time and the number of files, so that a removal is a change too.
fn newest() -> Result<(SystemTime, usize)> {
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut files = 0;
    let mut waiting: Vec<_> = WATCHED
        .iter()
        .map(|path| Path::new(path).to_owned())
        .collect();
    while let Some(path) = waiting.pop() {
        // An editor replaces files while we look: what is gone is seen on the next round.
        let Ok(seen) = fs::metadata(&path) else {
            continue;
        };
        if seen.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else {
                continue;
            };
            waiting.extend(entries.flatten().map(|entry| entry.path()));
        } else {
            files += 1;
            newest = newest.max(seen.modified().context("reading modification times")?);
        }
    }
    Ok((newest, files))
}
