//! Settings: flags, each with an environment variable, and what is printed of them.
//!
//! What must stay true: a secret is never printed, neither by `Display` nor by `Debug`.

use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use clap::{Args, ValueEnum};
use engine::source::{MasterKey, MasterKeyError};
use sqlx::postgres::PgConnectOptions;

/// The address of a database. It may hold a password, so it prints itself without one.
#[derive(Clone)]
pub struct DatabaseUrl(PgConnectOptions);

/// A text that is no address of a PostgreSQL database.
#[derive(Debug, thiserror::Error)]
#[error("expected an address like postgres://user:password@host:5432/quittance")]
pub struct DatabaseUrlError;

impl DatabaseUrl {
    /// What to connect with.
    pub fn options(&self) -> &PgConnectOptions {
        &self.0
    }
}

impl From<PgConnectOptions> for DatabaseUrl {
    fn from(options: PgConnectOptions) -> Self {
        Self(options)
    }
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, DatabaseUrlError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(DatabaseUrlError);
        }
        // The parser's message would quote the address, password and all.
        url.parse().map(Self).map_err(|_| DatabaseUrlError)
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, host, port) = (self.0.get_username(), self.0.get_host(), self.0.get_port());
        let database = self.0.get_database().unwrap_or(user);
        write!(f, "postgres://{user}:***@{host}:{port}/{database}")
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where the data is: every command takes these.
#[derive(Clone, Debug, Args)]
pub struct DataArgs {
    /// PostgreSQL to use; a private one in the data directory when left out.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, value_name = "URL")]
    pub database_url: Option<DatabaseUrl>,

    /// Directory of the private PostgreSQL and of the key that secrets are sealed with.
    #[arg(
        long,
        env = "QUITTANCE_DATA_DIR",
        default_value = ".quittance",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,

    /// Key that webhook secrets are sealed with, 64 hexadecimal digits; when left out, the one in the
    /// file `master.key` of the data directory, which is made when it is missing.
    #[arg(long, env = "QUITTANCE_MASTER_KEY", hide_env_values = true, value_name = "HEX", value_parser = MasterKey::from_hex)]
    pub master_key: Option<MasterKey>,
}

impl DataArgs {
    /// The key that webhook secrets are sealed with.
    ///
    /// # Errors
    /// When its file cannot be used; the message says what to do.
    pub fn master_key(&self) -> Result<MasterKey, MasterKeyError> {
        match &self.master_key {
            Some(key) => Ok(key.clone()),
            None => MasterKey::load_or_create(&self.data_dir.join("master.key")),
        }
    }
}

/// What a process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Role {
    /// Takes webhooks.
    Receiver,
    /// Answers the Jobs API.
    Api,
    /// Serves the console.
    Console,
    /// Settles events.
    Worker,
    /// Runs what is due by time: seals, expired sessions, old rejected deliveries, partitions.
    Scheduler,
}

/// How log lines look.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// Settings of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Where the data is.
    #[command(flatten)]
    pub data: DataArgs,

    /// Address to listen on.
    #[arg(long, env = "QUITTANCE_LISTEN", default_value = "127.0.0.1:8420")]
    pub listen: SocketAddr,

    /// Address that `/metrics` is served on, such as 127.0.0.1:9464; nowhere when left out. It tells how
    /// the business goes: keep it where only the collector reaches it.
    #[arg(long, env = "QUITTANCE_METRICS", value_name = "ADDRESS")]
    pub metrics: Option<SocketAddr>,

    /// Roles of this process, separated by commas; all of them when left out.
    #[arg(
        long,
        env = "QUITTANCE_ONLY",
        value_enum,
        value_delimiter = ',',
        value_name = "ROLE"
    )]
    pub only: Vec<Role>,

    /// Address the outside world uses, such as https://billing.example.com. With https, cookies are
    /// marked secure.
    #[arg(long, env = "QUITTANCE_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,

    /// Proxies in front of this process that add the address they were called from to X-Forwarded-For.
    /// The client is the one that the outermost of them saw; 0 when browsers and senders connect directly.
    #[arg(long, env = "QUITTANCE_PROXIES", default_value_t = 0, value_name = "N")]
    pub proxies: u8,

    /// Directory of the built front end.
    #[arg(
        long,
        env = "LEPTOS_SITE_ROOT",
        default_value = "target/site",
        value_name = "DIR"
    )]
    pub site_root: PathBuf,

    /// The front end's files carry a hash in their names (`hash.txt` stands beside this program).
    #[arg(long, env = "LEPTOS_HASH_FILES", default_value_t = false, action = clap::ArgAction::Set)]
    pub hash_files: bool,

    /// The console shows live money; without it the band says TEST.
    #[arg(long, env = "QUITTANCE_LIVE", default_value_t = false, action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub live: bool,

    /// Connections to the database.
    #[arg(long, env = "QUITTANCE_MAX_CONNECTIONS", default_value_t = 24, value_parser = clap::value_parser!(u32).range(4..=1000))]
    pub max_connections: u32,

    /// Deliveries that may share a commit.
    #[arg(long, env = "QUITTANCE_FLUSH_ROWS", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub flush_rows: u16,

    /// API requests a key may make in a second, with bursts of twice that.
    #[arg(long, env = "QUITTANCE_API_RATE", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub api_rate_per_second: u32,

    /// Minutes between reconciliation runs, which check what is new in the books, and everything once a
    /// day and while something is wrong; 0 for none.
    #[arg(long, env = "QUITTANCE_RECONCILE_MINUTES", default_value_t = 15)]
    pub reconcile_minutes: u32,

    /// Minutes after which a job without a verdict is uncertain and asks for a person.
    #[arg(long, env = "QUITTANCE_UNCERTAIN_MINUTES", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    pub uncertain_minutes: u32,

    /// How long open requests may still run after a signal to stop, in seconds.
    #[arg(long, env = "QUITTANCE_GRACE_SECONDS", default_value_t = 20)]
    pub grace_seconds: u64,

    /// How log lines look.
    #[arg(
        long,
        env = "QUITTANCE_LOG_FORMAT",
        value_enum,
        default_value = "pretty"
    )]
    pub log_format: LogFormat,
}

impl ServeArgs {
    /// Whether this process has a role.
    pub fn has(&self, role: Role) -> bool {
        self.only.is_empty() || self.only.contains(&role)
    }

    /// Whether browsers reach the console by https.
    pub fn is_https(&self) -> bool {
        self.public_url
            .as_deref()
            .is_some_and(|url| url.starts_with("https://"))
    }

    /// How long open requests may still run after a signal to stop.
    pub fn grace(&self) -> Duration {
        Duration::from_secs(self.grace_seconds)
    }
}

/// The settings in effect, one a line.
impl fmt::Display for ServeArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = match &self.data.database_url {
            Some(url) => url.to_string(),
            None => format!("private, in {}", self.data.data_dir.display()),
        };
        let roles = Role::value_variants()
            .iter()
            .filter(|role| self.has(**role))
            .map(|role| format!("{role:?}").to_lowercase());
        writeln!(f, "listen       {}", self.listen)?;
        writeln!(
            f,
            "public url   {}",
            self.public_url.as_deref().unwrap_or("-")
        )?;
        let metrics = self.metrics.map(|address| address.to_string());
        writeln!(f, "metrics      {}", metrics.as_deref().unwrap_or("-"))?;
        writeln!(f, "roles        {}", roles.collect::<Vec<_>>().join(", "))?;
        writeln!(f, "database     {database}")?;
        writeln!(f, "connections  {}", self.max_connections)?;
        writeln!(f, "site         {}", self.site_root.display())?;
        write!(
            f,
            "mode         {}",
            if self.live { "live" } else { "test" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_address_never_shows_its_password() {
        let url: DatabaseUrl = "postgres://app:hunter2@db.internal:5433/books"
            .parse()
            .unwrap();
        assert_eq!(url.to_string(), "postgres://app:***@db.internal:5433/books");
        assert!(!format!("{url:?}").contains("hunter2"));
        let refused = "mysql://app:hunter2@db".parse::<DatabaseUrl>().unwrap_err();
        assert!(!refused.to_string().contains("hunter2"));
    }
}
