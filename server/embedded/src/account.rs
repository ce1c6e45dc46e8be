//! Which user PostgreSQL runs as, and where that user can reach.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// The user and group PostgreSQL runs as; `None` means "whoever we are".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account(Option<Ids>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ids {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Ourselves, unless we are root: PostgreSQL refuses to run as root, so then it is Debian's
    /// `postgres`, else `nobody`.
    pub(crate) fn choose() -> Result<Self, Error> {
        if !is_root()? {
            return Ok(Self(None));
        }
        let passwd = Path::new("/etc/passwd");
        let text = fs::read_to_string(passwd).map_err(Error::io("reading", passwd))?;
        ["postgres", "nobody"]
            .into_iter()
            .find_map(|name| ids_of(&text, name))
            .map(|ids| Self(Some(ids)))
            .ok_or(Error::NoUser)
    }

    /// A command that runs as this user, cut off from our terminal and our PG* variables.
    ///
    /// Its own process group keeps a Ctrl-C meant for us from stopping the database before we
    /// have drained; `/` as working directory is one that every user can enter.
    pub(crate) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .process_group(0)
            .env("LC_ALL", "C");
        for name in [
            "PGDATA",
            "PGPORT",
            "PGHOST",
            "PGOPTIONS",
            "PGUSER",
            "PGDATABASE",
        ] {
            command.env_remove(name);
        }
        if let Some(Ids { uid, gid }) = self.0 {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Gives a directory to this user.
    pub(crate) fn own(self, dir: &Path) -> Result<(), Error> {
        match self.0 {
            Some(Ids { uid, gid }) => std::os::unix::fs::chown(dir, Some(uid), Some(gid))
                .map_err(Error::io("changing the owner of", dir)),
            None => Ok(()),
        }
    }

    /// Whether this user can pass through every directory down to `dir` (which must exist).
    pub(crate) fn reaches(self, dir: &Path) -> Result<bool, Error> {
        let Some(Ids { uid, gid }) = self.0 else {
            return Ok(true);
        };
        for ancestor in dir.ancestors() {
            let seen = fs::metadata(ancestor).map_err(Error::io("looking at", ancestor))?;
            let bit = if seen.uid() == uid {
                0o100
            } else if seen.gid() == gid {
                0o010
            } else {
                0o001
            };
            if seen.mode() & bit == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the user is another than ourselves.
    pub(crate) fn is_other(self) -> bool {
        self.0.is_some()
    }
}

fn is_root() -> Result<bool, Error> {
    let out = Command::new("id")
        .arg("-u")
        .output()
        .map_err(Error::io("running", "id"))?;
    Ok(out.stdout.trim_ascii() == b"0")
}

fn ids_of(passwd: &str, name: &str) -> Option<Ids> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Ids { uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
                          postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn ids_are_read_by_exact_name() {
        assert_eq!(ids_of(PASSWD, "postgres"), Some(Ids { uid: 101, gid: 104 }));
        assert_eq!(ids_of(PASSWD, "post"), None);
    }

    #[test]
    fn a_closed_parent_directory_is_out_of_reach_for_another_user() {
        use std::os::unix::fs::PermissionsExt;
        let outer = std::env::temp_dir().join(format!("embedded-reach-{}", std::process::id()));
        let inner = outer.join("inner");
        fs::create_dir_all(&inner).unwrap();
        let stranger = Account(Some(Ids {
            uid: 60_123,
            gid: 60_123,
        }));
        let set = |mode| fs::set_permissions(&outer, fs::Permissions::from_mode(mode)).unwrap();

        set(0o755);
        assert!(stranger.reaches(&inner).unwrap());
        set(0o700);
        assert!(!stranger.reaches(&inner).unwrap());
        assert!(Account(None).reaches(&inner).unwrap());

        fs::remove_dir_all(&outer).unwrap();
    }
}
