//! Building the browser's part: WASM, its glue, the style sheet and the assets.
//!
//! The front end has a cargo call and a target directory of its own, so that features for the
//! browser and for the server are never unified. Names are those Leptos asks for when files
//! are not hashed: `pkg/quittance.js`, `pkg/quittance_bg.wasm`, `pkg/quittance.css`.

mod style;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::command::show;
use crate::setup::Toolchain;

pub(crate) const SITE: &str = "target/site";
pub(crate) const TARGET_DIR: &str = "target/front";
const NAME: &str = "quittance";

/// What is built for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Small and held to the budgets.
    Release,
    /// Quick to build, for `cargo x dev`.
    Debug,
}

impl Kind {
    /// The cargo profile and the directory it writes to.
    fn profile(self) -> (&'static str, &'static str) {
        match self {
            Self::Release => ("wasm-release", "wasm-release"),
            Self::Debug => ("dev", "debug"),
        }
    }
}

/// What a file may weigh after brotli, in bytes. A page must be usable on a bad line.
const BUDGETS: [(&str, u64); 3] = [
    ("quittance_bg.wasm", 150_000),
    ("quittance.js", 12_000),
    ("quittance.css", 20_000),
];

/// The features that rustc's default for this target relies on.
const WASM_OPT: [&str; 7] = [
    "-Oz",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-multivalue",
    "--enable-reference-types",
];

/// Builds what changed since the last time.
pub(crate) fn build(toolchain: Toolchain, kind: Kind) -> Result<()> {
    let (profile, dir) = kind.profile();
    let mut cargo = toolchain.cargo();
    cargo
        .args([
            "build",
            "--package",
            "frontend",
            "--target",
            crate::setup::WASM,
        ])
        .args(["--profile", profile, "--target-dir", TARGET_DIR]);
    show(&mut cargo)?;

    let site = Path::new(SITE);
    let pkg = site.join("pkg");
    fs::create_dir_all(&pkg).context("creating the site's directory")?;
    let raw: PathBuf = [TARGET_DIR, crate::setup::WASM, dir, "frontend.wasm"]
        .iter()
        .collect();
    let stamp = Stamp::of(&raw, kind)?;
    if stamp.is_current(&pkg) {
        println!("the WASM is unchanged");
    } else {
        bind(&raw, &pkg, kind)?;
        stamp.write()?;
    }
    style::bundle(Path::new("style/main.css"), &pkg.join("quittance.css"))?;
    copy_changed(Path::new("style/assets"), site)?;
    show(Command::new("node").args([".ci/compress.mjs", SITE]))?;
    if kind == Kind::Release {
        check_budgets(&pkg)
    } else {
        Ok(())
    }
}

/// Which raw file the finished one was made from.
struct Stamp(String);

impl Stamp {
    const PATH: &str = "target/front/bound";

    fn of(raw: &Path, kind: Kind) -> Result<Self> {
        let seen = fs::metadata(raw).with_context(|| format!("looking at {}", raw.display()))?;
        let age = seen.modified()?.duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Self(format!("{kind:?} {} {}", seen.len(), age.as_nanos())))
    }

    fn is_current(&self, pkg: &Path) -> bool {
        let made = BUDGETS.iter().filter(|(name, _)| !name.ends_with(".css"));
        fs::read_to_string(Self::PATH).is_ok_and(|text| text == self.0)
            && made
                .map(|(name, _)| pkg.join(name))
                .all(|path| path.is_file())
    }

    fn write(&self) -> Result<()> {
        fs::write(Self::PATH, &self.0).context("noting what was built")
    }
}

/// wasm-bindgen, then wasm-opt for a release.
fn bind(raw: &Path, pkg: &Path, kind: Kind) -> Result<()> {
    println!("wasm-bindgen: {}", raw.display());
    let release = kind == Kind::Release;
    let staging = Path::new(TARGET_DIR).join("bound-files");
    if staging.exists() {
        fs::remove_dir_all(&staging).context("clearing wasm-bindgen's output")?;
    }
    let generate = || {
        Bindgen::new()
            .input_path(raw)
            .out_name(NAME)
            .web(true)?
            .typescript(false)
            .remove_name_section(release)
            .remove_producers_section(release)
            .generate(&staging)
    };
    generate().map_err(|error| anyhow!("wasm-bindgen: {error:#}"))?;
    if release {
        let wasm = staging.join("quittance_bg.wasm");
        let mut optimise = Command::new("node");
        optimise
            .arg("end2end/node_modules/binaryen/bin/wasm-opt")
            .args(WASM_OPT);
        optimise.arg(&wasm).arg("-o").arg(&wasm);
        show(&mut optimise)?;
    }
    copy_changed(&staging, pkg)
}

/// Copies a directory's files, leaving alone those that are the same already, so that their
/// times (and with them the caches of browsers) stay.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("listing {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_changed(&entry.path(), &target)?;
        } else {
            let bytes = fs::read(entry.path())?;
            write_changed(&target, &bytes)?;
        }
    }
    Ok(())
}

fn write_changed(target: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(target).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(target, bytes).with_context(|| format!("writing {}", target.display()))
}

/// Prints what was built and fails where it outgrew its budget.
fn check_budgets(pkg: &Path) -> Result<()> {
    let mut over = Vec::new();
    for (name, budget) in BUDGETS {
        let size = |path: PathBuf| -> Result<u64> {
            let seen = fs::metadata(&path);
            Ok(seen
                .with_context(|| format!("looking at {}", path.display()))?
                .len())
        };
        let plain = size(pkg.join(name))?;
        let packed = size(pkg.join(format!("{name}.br")))?;
        println!("{name:<20} {plain:>9} B  brotli {packed:>7} B  budget {budget:>7} B");
        if packed > budget {
            over.push(format!(
                "{name} is {packed} B after brotli, over its budget of {budget} B"
            ));
        }
    }
    if over.is_empty() {
        Ok(())
    } else {
        bail!("{}", over.join("; "))
    }
}
