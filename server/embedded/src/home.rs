//! The directory a private PostgreSQL lives in.
//!
//! ```text
//! lock           held (flock) by the owning process for as long as it lives
//! password       of the role `quittance`, mode 0600
//! port           the loopback port, kept so that the address stays the same over restarts
//! postgres.log   what the server says
//! data           the data directory, or a link to it
//! ```
//! `data` is a link when PostgreSQL must run as another user who cannot reach this directory
//! (root's home is closed on Debian): the data then lives below `/var/lib/quittance`. The
//! permissions of directories that are not ours are never widened.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::account::Account;

const ELSEWHERE: &str = "/var/lib/quittance";
/// A log larger than this is put aside when the server starts.
const LOG_BYTES: u64 = 16 * 1024 * 1024;
const LOG_TAIL_BYTES: u64 = 4 * 1024;

/// The directory and the small files in it.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
}

/// Where new data is built and where it then goes, so that half-made data is never mistaken
/// for a cluster.
pub(crate) struct Site {
    pub(crate) staging: PathBuf,
    pub(crate) data: PathBuf,
}

impl Home {
    /// Creates the directory where it is missing. Another user may pass through it, not list it.
    pub(crate) fn open(dir: &Path, account: Account) -> Result<Self, Error> {
        let fresh = !dir.exists();
        fs::create_dir_all(dir).map_err(Error::io("creating", dir))?;
        if fresh {
            let mode = if account.is_other() { 0o711 } else { 0o700 };
            set_mode(dir, mode)?;
        }
        let dir = fs::canonicalize(dir).map_err(Error::io("resolving", dir))?;
        Ok(Self { dir })
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes the owner's lock; `None` when another living process has it. The kernel frees it
    /// when its holder ends, however that happens.
    pub(crate) fn lock(&self) -> Result<Option<File>, Error> {
        let path = self.dir.join("lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("opening", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(source)) => Err(Error::io("locking", path)(source)),
        }
    }

    /// The finished data directory, if there is one.
    pub(crate) fn data(&self) -> Result<Option<PathBuf>, Error> {
        let link = self.dir.join("data");
        match fs::canonicalize(&link) {
            Ok(data) => Ok(Some(data)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("resolving", link)(error)),
        }
    }

    /// Chooses where new data goes, and clears what an interrupted attempt left there.
    pub(crate) fn site(&self, account: Account) -> Result<Site, Error> {
        let base = if account.reaches(&self.dir)? {
            self.dir.clone()
        } else {
            let base = Path::new(ELSEWHERE).join(random_hex(8)?);
            fs::create_dir_all(&base).map_err(Error::io("creating", &base))?;
            set_mode(Path::new(ELSEWHERE), 0o711)?;
            set_mode(&base, 0o711)?;
            base
        };
        let site = Site {
            staging: base.join("data.new"),
            data: base.join("data"),
        };
        if site.staging.exists() {
            fs::remove_dir_all(&site.staging).map_err(Error::io("removing", &site.staging))?;
        }
        fs::create_dir(&site.staging).map_err(Error::io("creating", &site.staging))?;
        set_mode(&site.staging, 0o700)?;
        account.own(&site.staging)?;
        Ok(site)
    }

    /// Makes finished data the data of this directory.
    pub(crate) fn adopt(&self, site: &Site) -> Result<(), Error> {
        let link = self.dir.join("data");
        if fs::symlink_metadata(&link).is_ok_and(|seen| seen.is_symlink()) {
            // Its target is gone: `data()` found nothing.
            fs::remove_file(&link).map_err(Error::io("removing", &link))?;
        }
        fs::rename(&site.staging, &site.data).map_err(Error::io("renaming", &site.staging))?;
        if site.data != link {
            symlink(&site.data, &link).map_err(Error::io("linking", &link))?;
        }
        Ok(())
    }

    /// The password written by an earlier start.
    pub(crate) fn known_password(&self) -> Result<Option<String>, Error> {
        let path = self.dir.join("password");
        match fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => Ok(Some(text.trim().to_owned())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("reading", path)(error)),
        }
    }

    /// Mints a password and stores it where only we can read it.
    pub(crate) fn new_password(&self) -> Result<String, Error> {
        let password = random_hex(24)?;
        self.write("password", &password)?;
        Ok(password)
    }

    /// The port of the last start.
    pub(crate) fn port(&self) -> Option<u16> {
        fs::read_to_string(self.dir.join("port"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    pub(crate) fn remember_port(&self, port: u16) -> Result<(), Error> {
        self.write("port", &port.to_string())
    }

    /// Opens the log for the server to append to, and tells where its new part begins.
    pub(crate) fn log(&self) -> Result<(File, u64), Error> {
        let path = self.log_path();
        if fs::metadata(&path).is_ok_and(|seen| seen.len() > LOG_BYTES) {
            let old = self.dir.join("postgres.log.1");
            fs::rename(&path, &old).map_err(Error::io("renaming", &path))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("opening", &path))?;
        let length = file
            .metadata()
            .map_err(Error::io("looking at", &path))?
            .len();
        Ok((file, length))
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.dir.join("postgres.log")
    }

    /// The end of what was logged after `from`.
    pub(crate) fn log_since(&self, from: u64) -> String {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(self.log_path())?;
            let start = from.max(file.metadata()?.len().saturating_sub(LOG_TAIL_BYTES));
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_else(|error| format!("(the log could not be read: {error})"))
    }

    /// Deletes the directory and the data, wherever they are.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        if let Some(data) = self.data()?
            && !data.starts_with(&self.dir)
            && let Some(base) = data.parent()
        {
            fs::remove_dir_all(base).map_err(Error::io("removing", base))?;
        }
        fs::remove_dir_all(&self.dir).map_err(Error::io("removing", &self.dir))
    }

    /// Writes a small file whole or not at all.
    fn write(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.dir.join(name);
        let partial = self.dir.join(format!("{name}.new"));
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new()
                .create(true)
                .truncate(true)
                .write(true)
                .mode(0o600)
                .open(&partial)?;
            writeln!(file, "{text}")?;
            file.sync_all()?;
            fs::rename(&partial, &path)
        };
        write().map_err(Error::io("writing", &path))
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<(), Error> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(Error::io("setting the mode of", path))
}

/// Random bytes of the kernel, in hex, so they need no quoting in SQL, URLs or paths.
pub(crate) fn random_hex(bytes: usize) -> Result<String, Error> {
    let source = Path::new("/dev/urandom");
    let mut buffer = vec![0_u8; bytes];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut buffer))
        .map_err(Error::io("reading", source))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}
