//! Chromium, for the browser tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::Package;
use super::say;
use crate::command::{find, show};
use anyhow::Result;

const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// The browser to test with: `CHROMIUM`, a system one, or Playwright's own download.
pub(crate) fn chromium() -> Option<PathBuf> {
    env::var_os("CHROMIUM")
        .map(PathBuf::from)
        .filter(|path| path.is_file())
        .or_else(|| {
            NAMES
                .iter()
                .find_map(|name| find(name).filter(|path| !is_snap_stub(path)))
        })
        .or_else(downloaded)
}

pub(crate) fn packages() -> Vec<Package> {
    if chromium().is_some() || is_ubuntu() {
        return Vec::new();
    }
    let why = "the browser tests drive it";
    vec![
        Package {
            name: "chromium",
            why,
        },
        Package {
            name: "fonts-liberation",
            why: "Chromium draws text with it",
        },
    ]
}

/// Ubuntu's package only installs a snap, which needs a running snapd; Playwright's own
/// browser works there.
pub(crate) fn download() -> Result<()> {
    if chromium().is_some() {
        return Ok(());
    }
    say("downloading Chromium: the browser tests drive it");
    let mut npx = Command::new("npx");
    npx.args(["playwright", "install", "--with-deps", "chromium"])
        .current_dir("end2end");
    show(&mut npx)
}

fn is_ubuntu() -> bool {
    fs::read_to_string("/etc/os-release")
        .is_ok_and(|text| text.lines().any(|line| line == "ID=ubuntu"))
}

/// A shell script that only asks for the snap.
fn is_snap_stub(path: &Path) -> bool {
    is_ubuntu()
        && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"#!") && contains(&bytes, b"snap"))
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

fn downloaded() -> Option<PathBuf> {
    let cache = Path::new(&env::var_os("HOME")?).join(".cache/ms-playwright");
    let mut found: Vec<PathBuf> = fs::read_dir(cache)
        .ok()?
        .flatten()
        .flat_map(|entry| {
            let dir = entry.path();
            [
                dir.join("chrome-linux/chrome"),
                dir.join("chrome-linux64/chrome"),
            ]
        })
        .filter(|path| path.is_file())
        .collect();
    found.sort();
    found.pop()
}
