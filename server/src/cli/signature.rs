//! `quittance signature check`: why is this webhook refused?
//!
//! Answers with the same functions as the receiver, from files and flags alone: no server, no
//! database, no configuration. So a request captured anywhere can be checked anywhere.
//!
//! Exit status: 0 accepted, 1 refused, 2 the question itself is wrong (an unusable secret, an
//! unreadable file, a malformed flag), with the reason on standard error.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use domain::signature::{
    KeyError, Keys, Reject, Request, Scheme, SecretKey, Tolerance, UnixSeconds, inspect,
};

/// Exit status for a request that is refused.
const REFUSED: u8 = 1;
/// Exit status for a question that cannot be answered; clap uses the same one.
const WRONG_USAGE: u8 = 2;

/// Work on webhook signatures.
#[derive(Subcommand)]
pub(crate) enum SignatureCommand {
    Check(SignatureCheck),
}

impl SignatureCommand {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self {
            Self::Check(check) => check.run(),
        }
    }
}

/// Says whether a captured webhook request would be accepted, and if not, what to look at.
///
/// Prints `accept`, or `reject: REASON` followed by what to look at. The whole request is judged:
/// signature, then freshness, then whether the body is UTF-8 and JSON.
/// Exit status: 0 accepted, 1 refused, 2 wrong usage.
#[derive(Args)]
pub(crate) struct SignatureCheck {
    /// How the sender signs: standard-webhooks-v1, standard-webhooks-v1a, svix-v1, openai,
    /// replicate, stripe, fal-ed25519, elevenlabs-v0, static-header or url-token.
    #[arg(long)]
    scheme: Scheme,

    /// An active secret, as the sender shows it; repeat it for a rotation. For static-header give
    /// `name: value`.
    #[arg(long = "secret", value_name = "SECRET", allow_hyphen_values = true)]
    secrets: Vec<String>,

    /// A file with one active secret a line, to keep secrets out of the shell's history.
    #[arg(long, value_name = "FILE")]
    secret_file: Option<PathBuf>,

    /// The sender's key set (JWKS), for fal-ed25519 and standard-webhooks-v1a.
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,

    /// The receiver's clock, in seconds since 1970; the present time when left out.
    #[arg(long, value_name = "UNIX", allow_negative_numbers = true)]
    at: Option<i64>,

    /// Greatest distance between the signed time and the clock; the scheme's own when left out.
    #[arg(long, value_name = "SECONDS")]
    tolerance: Option<u32>,

    /// A request header as `name: value`; repeat it for each header, in the order received.
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = header, allow_hyphen_values = true)]
    headers: Vec<Header>,

    /// The secret segment of the URL, for url-token.
    #[arg(long, allow_hyphen_values = true)]
    token: Option<String>,

    /// The file with the body, byte for byte; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    body: PathBuf,
}

#[derive(Clone)]
struct Header {
    name: String,
    value: String,
}

/// Why the question cannot be answered.
#[derive(Debug, thiserror::Error)]
enum UsageError {
    #[error("{0} cannot be read")]
    Unreadable(String, #[source] io::Error),
    #[error("secret {0} cannot be used")]
    Secret(usize, #[source] KeyError),
    #[error("the key set {0} cannot be used")]
    Jwks(String, #[source] KeyError),
    #[error("the keys cannot be used; give --secret, --secret-file or --jwks")]
    Keys(#[source] KeyError),
    #[error("this machine's clock is before 1970; set it, or give --at")]
    Clock,
}

impl SignatureCheck {
    /// Prints the verdict and returns the exit status that says the same.
    pub(crate) fn run(self) -> ExitCode {
        match self.verdict() {
            Ok(Ok(())) => answer("accept", ExitCode::SUCCESS),
            Ok(Err(reject)) => {
                let hint = reject.look_at(self.scheme);
                answer(
                    &format!("reject: {reject}\n{hint}"),
                    ExitCode::from(REFUSED),
                )
            }
            Err(error) => {
                complain(&error);
                ExitCode::from(WRONG_USAGE)
            }
        }
    }

    fn verdict(&self) -> Result<Result<(), Reject>, UsageError> {
        let keys = self.keys()?;
        let now = match self.at {
            Some(seconds) => UnixSeconds(seconds),
            None => wall_clock()?,
        };
        let tolerance = match self.tolerance {
            Some(seconds) => Tolerance::seconds(self.scheme, seconds),
            None => Tolerance::of(self.scheme),
        };
        let body = read(&self.body)?;
        let headers: Vec<_> = self
            .headers
            .iter()
            .map(|header| (header.name.as_str(), header.value.as_bytes()))
            .collect();
        let request = Request {
            headers: &headers,
            body: &body,
            token: self.token.as_deref(),
        };
        Ok(inspect(&keys, &request, now, tolerance).map(drop))
    }

    /// Every secret given, in the order of the flags, and the keys of the set.
    fn keys(&self) -> Result<Keys, UsageError> {
        let mut secrets = self.secrets.clone();
        if let Some(path) = &self.secret_file {
            let text = read_text(path)?;
            secrets.extend(
                text.lines()
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned),
            );
        }
        let mut keys = Vec::with_capacity(secrets.len());
        for (number, secret) in (1..).zip(&secrets) {
            let key = SecretKey::parse(self.scheme, secret);
            keys.push(key.map_err(|error| UsageError::Secret(number, error))?);
        }
        if let Some(path) = &self.jwks {
            let set = SecretKey::parse_jwks(self.scheme, &read_text(path)?);
            keys.extend(set.map_err(|error| UsageError::Jwks(shown(path), error))?);
        }
        Keys::new(keys).map_err(UsageError::Keys)
    }
}

/// Reads one `--header`: a name, a colon, a value with optional white space around it (RFC 9110).
fn header(text: &str) -> Result<Header, String> {
    let (name, value) = text
        .split_once(':')
        .ok_or("there is no colon; write it as `name: value`")?;
    let name = name.trim();
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Err("this is not a header name; write the header as `name: value`".to_owned());
    }
    let value = value.trim_matches([' ', '\t']);
    Ok(Header {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a person asks whether a request is fresh now, on this machine"
)]
fn wall_clock() -> Result<UnixSeconds, UsageError> {
    let since_1970 = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|_| UsageError::Clock)?;
    i64::try_from(since_1970.as_secs())
        .map(UnixSeconds)
        .map_err(|_| UsageError::Clock)
}

fn read(path: &Path) -> Result<Vec<u8>, UsageError> {
    let unreadable = |error| UsageError::Unreadable(shown(path), error);
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        return Ok(bytes);
    }
    fs::read(path).map_err(unreadable)
}

fn read_text(path: &Path) -> Result<String, UsageError> {
    String::from_utf8(read(path)?).map_err(|error| {
        UsageError::Unreadable(
            shown(path),
            io::Error::new(io::ErrorKind::InvalidData, error),
        )
    })
}

fn shown(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => format!("`{}`", path.display()),
    }
}

/// Prints the answer. The exit status carries the verdict even when nobody reads the output, but
/// an answer that could not be written is not reported as given.
fn answer(text: &str, status: ExitCode) -> ExitCode {
    match writeln!(io::stdout(), "{text}") {
        Ok(()) => status,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => status,
        Err(error) => {
            complain(&error);
            ExitCode::from(WRONG_USAGE)
        }
    }
}

/// Prints an error and everything that led to it on one line of standard error.
fn complain(error: &dyn std::error::Error) {
    let mut line = format!("error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    eprintln!("{line}");
}
