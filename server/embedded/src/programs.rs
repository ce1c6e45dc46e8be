//! Finding the server programs of the system.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Error;

/// Oldest major version the schema is written for.
pub const MINIMUM_MAJOR: u32 = 15;

const NEEDED: [&str; 3] = ["initdb", "postgres", "pg_ctl"];
const DEBIAN: &str = "/usr/lib/postgresql";

/// One installed set of PostgreSQL programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Programs {
    bindir: PathBuf,
    major: u32,
}

impl Programs {
    /// The programs to use for new data: the first in PATH, `pg_config --bindir`, and Debian's
    /// versioned directories (newest first) that is complete and new enough.
    ///
    /// # Errors
    /// [`Error::ProgramsMissing`] when there are none, [`Error::TooOld`] when all are too old.
    pub fn find() -> Result<Self, Error> {
        choose(candidates())
    }

    /// The programs for data that exists, whose major version must be matched.
    ///
    /// # Errors
    /// [`Error::OtherVersion`] when that version is not installed.
    pub(crate) fn find_for(data: &Path) -> Result<Self, Error> {
        let file = data.join("PG_VERSION");
        let text = fs::read_to_string(&file).map_err(Error::io("reading", &file))?;
        let wanted: u32 = text.trim().parse().unwrap_or_default();
        candidates()
            .into_iter()
            .find(|programs| programs.major == wanted)
            .ok_or_else(|| Error::OtherVersion {
                data: wanted,
                dir: data.to_owned(),
            })
    }

    /// The directory that holds the programs (`psql` and `pgbench` too, where installed).
    #[must_use]
    pub fn bindir(&self) -> &Path {
        &self.bindir
    }

    /// The path of one program.
    #[must_use]
    pub fn path(&self, program: &str) -> PathBuf {
        self.bindir.join(program)
    }

    /// The major version, such as 15.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.major
    }
}

fn choose(candidates: Vec<Programs>) -> Result<Programs, Error> {
    let mut newest_old: Option<Programs> = None;
    for programs in candidates {
        if programs.major >= MINIMUM_MAJOR {
            return Ok(programs);
        }
        if newest_old
            .as_ref()
            .is_none_or(|old| old.major < programs.major)
        {
            newest_old = Some(programs);
        }
    }
    Err(
        newest_old.map_or(Error::ProgramsMissing, |old| Error::TooOld {
            found: old.major,
            needed: MINIMUM_MAJOR,
            bindir: old.bindir,
        }),
    )
}

fn candidates() -> Vec<Programs> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(pg_config_bindir())
        .chain(versioned(Path::new(DEBIAN)))
        .filter_map(complete)
        .collect()
}

fn pg_config_bindir() -> Option<PathBuf> {
    let out = Command::new("pg_config").arg("--bindir").output().ok()?;
    let text = String::from_utf8(out.stdout).ok()?;
    (out.status.success() && !text.trim().is_empty()).then(|| PathBuf::from(text.trim()))
}

/// `<root>/<major>/bin`, newest major first.
fn versioned(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let major = entry.file_name().to_str()?.parse().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .collect();
    found.sort_by_key(|(major, _)| std::cmp::Reverse(*major));
    found.into_iter().map(|(_, bindir)| bindir).collect()
}

fn complete(bindir: PathBuf) -> Option<Programs> {
    if !NEEDED.iter().all(|program| bindir.join(program).is_file()) {
        return None;
    }
    // A link on PATH leads to the directory that has the client programs too.
    let bindir = fs::canonicalize(bindir.join("postgres"))
        .ok()?
        .parent()?
        .to_owned();
    let out = Command::new(bindir.join("postgres"))
        .arg("--version")
        .output()
        .ok()?;
    let major = major_of(&String::from_utf8_lossy(&out.stdout))?;
    Some(Programs { bindir, major })
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian …)`, and `17beta1` as well.
fn major_of(version: &str) -> Option<u32> {
    let number = version.split_whitespace().nth(2)?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(major: u32) -> Programs {
        Programs {
            bindir: PathBuf::from(format!("/opt/{major}/bin")),
            major,
        }
    }

    #[test]
    fn the_major_version_is_read_from_every_shape_of_version_line() {
        assert_eq!(
            major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"),
            Some(15)
        );
        assert_eq!(major_of("postgres (PostgreSQL) 17beta1"), Some(17));
        assert_eq!(major_of("nonsense"), None);
    }

    #[test]
    fn the_first_new_enough_wins_and_old_ones_are_named() {
        assert_eq!(
            choose(vec![programs(13), programs(16), programs(17)])
                .unwrap()
                .major,
            16
        );
        assert!(matches!(
            choose(vec![programs(12), programs(13)]),
            Err(Error::TooOld { found: 13, .. })
        ));
        let missing = choose(vec![]).unwrap_err().to_string();
        assert!(missing.contains("apt-get install postgresql"), "{missing}");
    }

    #[test]
    fn the_system_has_the_programs() {
        let found = Programs::find().unwrap();
        assert!(found.path("initdb").is_file());
        assert!(found.major() >= MINIMUM_MAJOR);
    }
}
