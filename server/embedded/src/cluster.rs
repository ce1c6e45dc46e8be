//! A cluster as its user sees it: started, joined, stopped, restarted, crashed.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::home::{Home, random_hex};
use crate::postmaster::{Postmaster, ROLE, Stop};
use crate::{Error, Programs};

/// How long a second process waits for the first one's server, which may be recovering.
const JOIN_LIMIT: Duration = Duration::from_secs(60);

/// What the cluster promises about a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// A commit that was answered survives. For anything real.
    Durable,
    /// Nothing need survive: no fsync, and a password check that is cheap in debug builds.
    /// For tests.
    Scratch,
}

/// What to start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of the cluster and its small files; made where missing.
    pub dir: PathBuf,
    /// What it promises.
    pub profile: Profile,
    /// How many clients may connect.
    pub max_connections: u16,
    /// Further server settings, as `name=value`; they win over the profile's.
    pub options: Vec<String>,
}

impl Settings {
    /// The product's settings.
    pub fn durable(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self {
            dir,
            profile: Profile::Durable,
            max_connections: 200,
            options: Vec::new(),
        }
    }

    /// The tests' settings.
    pub fn scratch(dir: impl Into<PathBuf>) -> Self {
        let dir = dir.into();
        Self {
            dir,
            profile: Profile::Scratch,
            max_connections: 300,
            options: Vec::new(),
        }
    }

    fn server_options(&self) -> Vec<String> {
        let durable = match self.profile {
            Profile::Durable => "on",
            Profile::Scratch => "off",
        };
        let mut options = vec![
            "listen_addresses=127.0.0.1".to_owned(),
            // Socket paths are limited to 107 bytes, and directories may be deep.
            "unix_socket_directories=".to_owned(),
            format!("max_connections={}", self.max_connections),
            format!("fsync={durable}"),
            format!("synchronous_commit={durable}"),
            format!("full_page_writes={durable}"),
            "shared_buffers=256MB".to_owned(),
            "max_wal_size=2GB".to_owned(),
            "jit=off".to_owned(),
            "timezone=UTC".to_owned(),
            "log_timezone=UTC".to_owned(),
            "log_line_prefix=%m [%p] ".to_owned(),
            // Statements and details of errors may hold customers' data.
            "log_min_error_statement=panic".to_owned(),
            "log_error_verbosity=terse".to_owned(),
        ];
        options.extend(self.options.iter().cloned());
        options
    }
}

/// A running private PostgreSQL. Dropping the owner's handle stops it.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
    home: Home,
    postmaster: Postmaster,
    password: String,
    port: u16,
    ours: Option<Ours>,
    temporary: bool,
}

/// What only the owner has. The child is there while the server runs.
#[derive(Debug)]
struct Ours {
    child: Option<Child>,
    _lock: File,
}

impl Cluster {
    /// Starts the cluster in `settings.dir`, making it first where there is none. When another
    /// living process owns that directory, joins its running server instead.
    ///
    /// # Errors
    /// Whatever [`Error`] lists; the text says what to do.
    pub fn start(settings: Settings) -> Result<Self, Error> {
        let account = Account::choose()?;
        let home = Home::open(&settings.dir, account)?;
        match home.lock()? {
            Some(lock) => Self::own(settings, home, account, lock),
            None => Self::join(settings, home, account),
        }
    }

    /// Starts a cluster in a new directory below the system's temporary one, which is removed
    /// when the handle is dropped.
    ///
    /// # Errors
    /// As for [`Cluster::start`].
    pub fn temporary(profile: Profile) -> Result<Self, Error> {
        let dir = std::env::temp_dir().join(format!("quittance-postgres-{}", random_hex(6)?));
        let settings = Settings {
            profile,
            ..Settings::scratch(dir)
        };
        let mut cluster = Self::start(settings)?;
        cluster.temporary = true;
        Ok(cluster)
    }

    fn own(settings: Settings, home: Home, account: Account, lock: File) -> Result<Self, Error> {
        let known = home.known_password()?;
        let password = match &known {
            Some(password) => password.clone(),
            None => home.new_password()?,
        };
        let postmaster = match home.data()? {
            Some(data) => {
                let programs = Programs::find_for(&data)?;
                let postmaster = Postmaster {
                    programs,
                    account,
                    data,
                };
                postmaster.clear_orphan()?;
                if known.is_none() {
                    postmaster.set_password(&password)?;
                }
                postmaster
            }
            None => create(settings.profile, &home, account, &password)?,
        };
        let ours = Some(Ours {
            child: None,
            _lock: lock,
        });
        let mut cluster = Self {
            settings,
            home,
            postmaster,
            password,
            port: 0,
            ours,
            temporary: false,
        };
        cluster.resume()?;
        Ok(cluster)
    }

    fn join(settings: Settings, home: Home, account: Account) -> Result<Self, Error> {
        let begun = Instant::now();
        loop {
            let ready = home.data()?.filter(|data| Postmaster::is_ready(data));
            if let (Some(data), Some(password), Some(port)) =
                (ready, home.known_password()?, home.port())
            {
                let programs = Programs::find_for(&data)?;
                let postmaster = Postmaster {
                    programs,
                    account,
                    data,
                };
                let (ours, temporary) = (None, false);
                return Ok(Self {
                    settings,
                    home,
                    postmaster,
                    password,
                    port,
                    ours,
                    temporary,
                });
            }
            if begun.elapsed() > JOIN_LIMIT {
                return Err(Error::InUse {
                    dir: home.dir().to_owned(),
                });
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// The address of the product's database, for `DATABASE_URL`. It holds the password.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_of(ROLE)
    }

    /// The address of another database of this cluster.
    #[must_use]
    pub fn url_of(&self, database: &str) -> String {
        let Self { password, port, .. } = self;
        format!("postgres://{ROLE}:{password}@127.0.0.1:{port}/{database}")
    }

    /// The loopback port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The programs it runs from (`psql` and `pgbench` are usually beside them).
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.postmaster.programs
    }

    /// Where the server logs.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.home.log_path()
    }

    /// The directory it was asked to live in.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.home.dir()
    }

    /// Whether this process started the server and will stop it; otherwise it joined one.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.ours.is_some()
    }

    /// Stops the server cleanly: clients are disconnected, a checkpoint is written. A joined
    /// cluster is left running.
    ///
    /// # Errors
    /// When it does not stop in two minutes.
    pub fn stop(&mut self) -> Result<(), Error> {
        if self.is_owner() {
            self.end(Stop::Fast)
        } else {
            Ok(())
        }
    }

    /// Ends the server at once, as a power cut would end it for its clients. For drills.
    ///
    /// # Errors
    /// When the cluster is not ours, or cannot be ended.
    pub fn crash(&mut self) -> Result<(), Error> {
        self.end(Stop::Immediate)
    }

    /// Starts the server again, on the same port, after [`Cluster::stop`] or
    /// [`Cluster::crash`]; does nothing while it runs.
    ///
    /// # Errors
    /// When the cluster is not ours, or does not start.
    pub fn resume(&mut self) -> Result<(), Error> {
        let ours = self.ours.as_mut().ok_or(Error::NotOwner)?;
        if ours.child.is_none() {
            let options = self.settings.server_options();
            let (child, port) = self
                .postmaster
                .start(&self.home, self.home.port(), &options)?;
            ours.child = Some(child);
            self.port = port;
        }
        Ok(())
    }

    /// Stops the server cleanly and starts it again.
    ///
    /// # Errors
    /// As for [`Cluster::stop`] and [`Cluster::resume`].
    pub fn restart(&mut self) -> Result<(), Error> {
        self.end(Stop::Fast)?;
        self.resume()
    }

    fn end(&mut self, how: Stop) -> Result<(), Error> {
        let ours = self.ours.as_mut().ok_or(Error::NotOwner)?;
        let Some(child) = ours.child.as_mut() else {
            return Ok(());
        };
        let data = &self.postmaster.data;
        if child
            .try_wait()
            .map_err(Error::io("awaiting", data))?
            .is_none()
        {
            self.postmaster.stop(how)?;
            child.wait().map_err(Error::io("awaiting", data))?;
        }
        ours.child = None;
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.is_owner() {
            return;
        }
        // A temporary cluster has nothing worth a checkpoint.
        let how = if self.temporary {
            Stop::Immediate
        } else {
            Stop::Fast
        };
        let ended = self.end(how);
        let removed = if self.temporary {
            self.home.remove()
        } else {
            Ok(())
        };
        for error in [ended, removed].into_iter().filter_map(Result::err) {
            eprintln!("private PostgreSQL: {error}");
        }
    }
}

fn create(
    profile: Profile,
    home: &Home,
    account: Account,
    password: &str,
) -> Result<Postmaster, Error> {
    let programs = Programs::find()?;
    let site = home.site(account)?;
    let staged = Postmaster {
        programs,
        account,
        data: site.staging.clone(),
    };
    staged.init(profile)?;
    staged.set_password(password)?;
    home.adopt(&site)?;
    Ok(Postmaster {
        data: site.data,
        ..staged
    })
}
