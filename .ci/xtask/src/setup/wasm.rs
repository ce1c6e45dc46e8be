//! A Rust that can compile for the browser.
//!
//! `rustup target add` is the way wherever rustup's server can be reached. Elsewhere Debian's
//! current Rust (`rustc-web`) comes with its library sources: the standard library is compiled
//! from them once, put where that compiler looks for it, and the whole is linked into rustup as
//! the toolchain `debian`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt::{self, Package};
use super::say;
use crate::command::{cargo, find, is_root, read, show};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Which cargo builds for the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The one in use, with the target added.
    Active,
    /// Debian's, linked into rustup.
    Debian,
}

impl Toolchain {
    /// A cargo call of this toolchain.
    pub(crate) fn cargo(self) -> Command {
        let mut command = cargo();
        if self == Self::Debian {
            command.arg("+debian");
        }
        command
    }
}

/// Where Debian's compiler looks for libraries.
const DEBIAN_LIBS: &str = "/usr/lib/rustlib/wasm32-unknown-unknown/lib";
/// Says which compiler the libraries there were made by.
const MADE_BY: &str = "made-by";
/// Link-time optimisation of the front end needs it in the libraries too.
const BITCODE: &str = "-Cembed-bitcode=yes";

/// The toolchain that has the target, after adding it where none has.
pub(crate) fn target() -> Result<Toolchain> {
    if let Some(toolchain) = present()? {
        return Ok(toolchain);
    }
    say(&format!(
        "adding the Rust target {TARGET}: the console's islands are compiled for it"
    ));
    if find("rustup").is_some() && !forced() {
        // A server that never answers must not hold up the way that needs no server.
        let mut add = Command::new("timeout");
        add.args(["180", "rustup", "target", "add", TARGET]);
        if show(&mut add).is_ok() && is_in(&active_libs()?) {
            return Ok(Toolchain::Active);
        }
        say("rustup could not add it; compiling it from Debian's sources instead (a minute)");
    }
    from_debian()?;
    match present()? {
        Some(toolchain) => Ok(toolchain),
        None => bail!("the target {TARGET} is still missing after installing it"),
    }
}

fn present() -> Result<Option<Toolchain>> {
    if !forced() && is_in(&active_libs()?) {
        return Ok(Some(Toolchain::Active));
    }
    let made_by = fs::read_to_string(Path::new(DEBIAN_LIBS).join(MADE_BY));
    let same = made_by.is_ok_and(|text| debian_version().is_ok_and(|now| now == text));
    Ok((same && is_linked()).then_some(Toolchain::Debian))
}

/// Lets the fallback be tried where rustup's server can be reached.
fn forced() -> bool {
    std::env::var_os("QUITTANCE_WASM_FROM_DEBIAN").is_some()
}

fn active_libs() -> Result<PathBuf> {
    let sysroot = read(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(&sysroot)
        .join("lib/rustlib")
        .join(TARGET)
        .join("lib"))
}

fn is_in(libs: &Path) -> bool {
    fs::read_dir(libs).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
    })
}

fn debian_version() -> Result<String> {
    let version = read(Command::new("/usr/bin/rustc").arg("-vV"))?;
    Ok(format!("{version}\n{BITCODE}\n"))
}

fn is_linked() -> bool {
    read(Command::new("rustup").args(["toolchain", "list"])).is_ok_and(|list| {
        list.lines()
            .any(|line| line.split_whitespace().next() == Some("debian"))
    })
}

fn from_debian() -> Result<()> {
    if find("rustup").is_none() {
        bail!("add the target {TARGET} in the way Rust was installed here");
    }
    let why = "it compiles for the browser where rustup's server is out of reach";
    let names = ["rustc-web", "cargo-web", "rust-web-src"];
    apt::install(&names.map(|name| Package { name, why }))?;
    if !is_root() {
        bail!(
            "compiling the target writes to /usr/lib/rustlib, which needs root: run \
             `cargo x setup` once as root"
        );
    }
    compile_libraries()?;
    link_linker()?;
    show(Command::new("rustup").args(["toolchain", "link", "debian", "/usr"]))
}

/// Compiles an empty crate with its own standard library, and keeps the library.
fn compile_libraries() -> Result<()> {
    let dir = std::path::absolute("target/wasm-library").context("resolving target")?;
    if dir.exists() {
        // Two builds' libraries side by side could not be told apart.
        fs::remove_dir_all(&dir).context("clearing target/wasm-library")?;
    }
    fs::create_dir_all(dir.join("src")).context("creating target/wasm-library")?;
    let manifest = "[package]\nname = \"empty\"\nedition = \"2021\"\n\n\
                    [lib]\ncrate-type = [\"rlib\"]\n\n[workspace]\n";
    fs::write(dir.join("Cargo.toml"), manifest).context("writing target/wasm-library")?;
    fs::write(dir.join("src/lib.rs"), "#![no_std]\n").context("writing target/wasm-library")?;
    let mut build = Command::new("/usr/bin/cargo");
    build
        .args([
            "build",
            "--release",
            "-Zbuild-std=std,panic_abort",
            "--target",
            TARGET,
        ])
        .args(["--target-dir", "target"])
        .current_dir(&dir)
        .env("RUSTC", "/usr/bin/rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", BITCODE);
    for name in [
        "RUSTUP_TOOLCHAIN",
        "CARGO",
        "RUSTC_WRAPPER",
        "CARGO_TARGET_DIR",
    ] {
        build.env_remove(name);
    }
    show(&mut build)?;

    let libs = Path::new(DEBIAN_LIBS);
    if libs.exists() {
        fs::remove_dir_all(libs).with_context(|| format!("clearing {DEBIAN_LIBS}"))?;
    }
    fs::create_dir_all(libs).with_context(|| format!("creating {DEBIAN_LIBS}"))?;
    let made = dir.join("target").join(TARGET).join("release/deps");
    for entry in fs::read_dir(&made).with_context(|| format!("listing {}", made.display()))? {
        let entry = entry?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if text.ends_with(".rlib") && !text.starts_with("libempty-") {
            fs::copy(entry.path(), libs.join(&name)).with_context(|| format!("copying {text}"))?;
        }
    }
    fs::write(libs.join(MADE_BY), debian_version()?).context("noting the compiler")
}

/// Debian's own lld is older than what this compiler writes; rustup brings one that fits.
fn link_linker() -> Result<()> {
    let sysroot = read(Command::new("rustc").args(["--print", "sysroot"]))?;
    let host = read(Command::new("rustc").args(["--print", "host-tuple"]))?;
    let rust_lld = Path::new("lib/rustlib").join(&host).join("bin/rust-lld");
    let from = Path::new(&sysroot).join(&rust_lld);
    let to = Path::new("/usr").join(&rust_lld);
    if !from.is_file() {
        bail!("{} is missing", from.display());
    }
    if to.exists() {
        return Ok(());
    }
    let dir = to.parent().context("the linker's directory")?;
    fs::create_dir_all(dir).with_context(|| format!("creating {}", dir.display()))?;
    if fs::symlink_metadata(&to).is_ok() {
        fs::remove_file(&to).with_context(|| format!("removing {}", to.display()))?;
    }
    std::os::unix::fs::symlink(&from, &to).with_context(|| format!("linking {}", to.display()))
}
