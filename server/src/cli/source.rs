//! Sources from the command line: set up, list, rotate secrets, disable. Secrets are read from standard
//! input, so that they appear neither in the shell's history nor in the process list.

mod answers;

use std::{
    io::{self, Read as _},
    path::PathBuf,
};

use base64::Engine as _;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use domain::{adapter::Adapter, id::SecretId, signature::Scheme};
use engine::{
    Engine,
    source::{DEFAULT_BODY_LIMIT_BYTES, NewSource, SourceRow},
};

use self::answers::AnswersCommand;
use super::Outcome;
use crate::{config::DataArgs, database::Database};

/// Who the audit log says it was.
const ACTOR: &str = "command line";

/// Work on sources.
#[derive(Subcommand)]
pub(super) enum SourceCommand {
    /// Set up a sender of webhooks; prints its URL path. It accepts nothing before it has a secret.
    Add(SourceAdd),
    /// List the sources.
    List(DataArgs),
    /// Work on the secrets of a source.
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Work on where a source's provider answers when it is asked.
    #[command(subcommand)]
    Answers(AnswersCommand),
    /// Refuse a source's deliveries from now on. What it sent stays.
    Disable(SourceDisable),
}

#[derive(Args)]
pub(super) struct SourceAdd {
    /// Name in the webhook URL, such as replicate-prod.
    slug: String,
    /// How its bodies are read: generic or replicate.
    #[arg(long)]
    adapter: Adapter,
    /// How its requests prove where they come from, such as standard-webhooks-v1.
    #[arg(long)]
    scheme: Scheme,
    /// Name shown to staff; the slug when left out.
    #[arg(long)]
    name: Option<String>,
    /// For real money; without it its events are tests.
    #[arg(long)]
    live: bool,
    /// Header that carries the shared value (scheme static-header).
    #[arg(long, value_name = "NAME")]
    header: Option<String>,
    /// The sender's account, such as fal's user id (scheme fal-ed25519).
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// Largest age of a signed timestamp, in seconds; the scheme's own when left out.
    #[arg(long, value_name = "SECONDS")]
    tolerance: Option<u32>,
    /// Largest body, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_BODY_LIMIT_BYTES)]
    body_limit: u32,
    /// Status of an accepted delivery: 200 or 202.
    #[arg(long, default_value_t = 200)]
    ack_status: u16,
    /// Where its public keys are published.
    #[arg(long, value_name = "URL")]
    jwks_url: Option<String>,
    /// File with its public keys.
    #[arg(long, value_name = "FILE", conflicts_with = "jwks_url")]
    jwks: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgs,
}

/// Work on the secrets of a source.
#[derive(Subcommand)]
pub(super) enum SecretCommand {
    /// Add a secret, read from standard input, beside those the source has; prints its id.
    Add(SecretAdd),
    /// Let a secret verify until an instant and no longer.
    Expire(SecretExpire),
}

#[derive(Args)]
pub(super) struct SecretAdd {
    /// The source.
    slug: String,
    /// Make a new secret instead of reading one, and print it, once.
    #[arg(long)]
    generate: bool,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct SecretExpire {
    /// The source.
    slug: String,
    /// The secret, as `source list` names it.
    secret: SecretId,
    /// Until when it verifies, such as 2027-01-01T00:00:00Z; at once when left out.
    #[arg(long)]
    at: Option<DateTime<Utc>>,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(super) struct SourceDisable {
    /// The source.
    slug: String,
    #[command(flatten)]
    data: DataArgs,
}

impl SourceCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Add(add) => add.run().await,
            Self::List(data) => with_engine(&data, list).await,
            Self::Secret(SecretCommand::Add(add)) => add.run().await,
            Self::Secret(SecretCommand::Expire(expire)) => {
                with_engine(&expire.data, async |engine| {
                    let at = expire.at.unwrap_or_else(|| engine.clock().now());
                    engine
                        .expire_source_secret(&expire.slug, expire.secret, at, ACTOR)
                        .await?;
                    println!("{} verifies until {at}", expire.secret);
                    Ok(())
                })
                .await
            }
            Self::Answers(command) => command.run().await,
            Self::Disable(disable) => {
                with_engine(&disable.data, async |engine| {
                    engine.disable_source(&disable.slug, ACTOR).await?;
                    println!("{} is disabled", disable.slug);
                    Ok(())
                })
                .await
            }
        }
    }
}

impl SourceAdd {
    async fn run(self) -> Outcome {
        let jwks = self.jwks.map(std::fs::read_to_string).transpose()?;
        let new = NewSource {
            name: self.name.unwrap_or_else(|| self.slug.clone()),
            livemode: self.live,
            header_name: self.header,
            account: self.account,
            tolerance_seconds: self.tolerance,
            body_limit_bytes: self.body_limit,
            ack_status: self.ack_status,
            jwks_url: self.jwks_url,
            jwks,
            ..NewSource::new(&self.slug, self.adapter, self.scheme)
        };
        with_engine(&self.data, async |engine| {
            engine.add_source(&new, ACTOR).await?;
            let token = if new.scheme == Scheme::UrlToken {
                "/{token}"
            } else {
                ""
            };
            println!("/webhooks/{}{token}", new.slug);
            Ok(())
        })
        .await
    }
}

impl SecretAdd {
    async fn run(self) -> Outcome {
        let master = self.data.master_key()?;
        with_engine(&self.data, async |engine| {
            let source = engine.source(&self.slug).await?;
            let text = if self.generate {
                generate(source.scheme)?
            } else {
                read(&source)?
            };
            let id = engine
                .add_source_secret(&master, &self.slug, &text, ACTOR)
                .await?;
            println!("{id}");
            if self.generate {
                println!("{text}");
            }
            Ok(())
        })
        .await
    }
}

/// A secret from standard input, without the line end.
fn read(source: &SourceRow) -> Result<String, io::Error> {
    eprintln!(
        "secret of {} ({}), then Enter and Ctrl-D:",
        source.slug, source.scheme
    );
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(64 << 10)
        .read_to_string(&mut text)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// A new secret, where it is ours to choose.
fn generate(scheme: Scheme) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    match scheme {
        Scheme::StandardWebhooksV1 | Scheme::SvixV1 => Ok(format!(
            "whsec_{}",
            base64::engine::general_purpose::STANDARD.encode(bytes)
        )),
        Scheme::UrlToken | Scheme::StaticHeader => Ok(hex::encode(bytes)),
        _ => Err(format!("the sender makes the secret of {scheme}; give that one").into()),
    }
}

async fn list(engine: &Engine) -> Outcome {
    for source in engine.sources().await? {
        let mode = if source.livemode { "live" } else { "test" };
        let state = if source.disabled_at.is_some() {
            " disabled"
        } else {
            ""
        };
        println!(
            "{} {} {} {mode}{state}",
            source.slug, source.adapter, source.scheme
        );
        for secret in engine.source_secrets(source.id).await? {
            let until = secret
                .expires_at
                .map_or_else(|| "current".to_owned(), |at| format!("until {at}"));
            println!("  {} added {} {until}", secret.id, secret.created_at);
        }
        if let Some(base) = engine.answer_base(source.id).await? {
            println!("  is asked at {base}");
        }
    }
    Ok(())
}

/// Runs a command against the database and closes it.
async fn with_engine(data: &DataArgs, command: impl AsyncFnOnce(&Engine) -> Outcome) -> Outcome {
    let database = Database::open(data).await?;
    database.migrate().await?;
    let engine = database.engine(2).await?;
    let outcome = command(&engine).await;
    engine.pool().close().await;
    database.close().await?;
    outcome
}
