//! What can go wrong, one variant per thing a person does about it.

use std::io;
use std::path::PathBuf;

/// Why the private PostgreSQL could not be started, stopped or joined.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No directory holds the server programs.
    #[error(
        "PostgreSQL's server programs (initdb, postgres, pg_ctl) were not found in PATH, in \
         `pg_config --bindir` or in /usr/lib/postgresql/*/bin; install them with \
         `apt-get install postgresql`, or set DATABASE_URL to a server of your own"
    )]
    ProgramsMissing,
    /// Programs were found, but they are older than what the migrations need.
    #[error(
        "PostgreSQL {found} in {} is too old: version {needed} or newer is needed", bindir.display()
    )]
    TooOld {
        /// Major version found.
        found: u32,
        /// Oldest major version that works.
        needed: u32,
        /// Where it was found.
        bindir: PathBuf,
    },
    /// The data directory was made by a major version that is not installed.
    #[error(
        "the data in {} was made by PostgreSQL {data}, which is not installed; install it with \
         `apt-get install postgresql-{data}`, or move the data with pg_upgrade", dir.display()
    )]
    OtherVersion {
        /// Major version that made the data.
        data: u32,
        /// The data directory.
        dir: PathBuf,
    },
    /// Root owns this process and no other user is there to run PostgreSQL as.
    #[error(
        "PostgreSQL does not run as root, and neither of the users `postgres` and `nobody` \
         exists; create one, or start this program as another user"
    )]
    NoUser,
    /// Another process owns the directory, and its cluster did not become ready.
    #[error(
        "{} is in use by another process whose PostgreSQL is not ready; stop that process, or \
         choose another data directory", dir.display()
    )]
    InUse {
        /// The directory.
        dir: PathBuf,
    },
    /// A program ended with a failure.
    #[error("{program} failed: {output}")]
    Program {
        /// Which one.
        program: String,
        /// The end of what it printed.
        output: String,
    },
    /// The server ended, or did not become ready in time.
    #[error("PostgreSQL did not start ({reason}); the end of its log:\n{log}")]
    NotReady {
        /// Whether it ended or took too long.
        reason: String,
        /// The last lines of the log.
        log: String,
    },
    /// An operation that only the owner may do was asked of a joined cluster.
    #[error("this PostgreSQL belongs to another process, which alone may stop or restart it")]
    NotOwner,
    /// The file system refused.
    #[error("{doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

impl Error {
    /// Names the act and the path that an I/O error belongs to.
    pub(crate) fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io {
            doing,
            path,
            source,
        }
    }
}
