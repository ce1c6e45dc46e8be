//! Where a source's provider answers when it is asked how a job stands. The token is read from standard
//! input, like every secret.

use std::io::{self, Read as _};

use clap::{Args, Subcommand};
use domain::ask::Base;
use engine::source::AnswerApi;

use super::{ACTOR, Outcome, with_engine};
use crate::config::DataArgs;

/// Work on the answer API of a source.
#[derive(Subcommand)]
pub(in crate::cli) enum AnswersCommand {
    /// Set where the provider answers, in place of what was set before; the token is read from standard
    /// input. It is asked below the address: /v1/predictions/{reference} for replicate, /jobs/{reference}
    /// for generic.
    Set(AnswersSet),
    /// Forget where the provider answers. What it has answered stays.
    Remove(AnswersRemove),
}

#[derive(Args)]
pub(in crate::cli) struct AnswersSet {
    /// The source.
    slug: String,
    /// Its address, such as https://api.replicate.com; http for this machine only.
    #[arg(long, value_name = "URL")]
    url: Base,
    #[command(flatten)]
    data: DataArgs,
}

#[derive(Args)]
pub(in crate::cli) struct AnswersRemove {
    /// The source.
    slug: String,
    #[command(flatten)]
    data: DataArgs,
}

impl AnswersCommand {
    pub(super) async fn run(self) -> Outcome {
        match self {
            Self::Set(set) => set.run().await,
            Self::Remove(remove) => remove.run().await,
        }
    }
}

impl AnswersSet {
    async fn run(self) -> Outcome {
        let master = self.data.master_key()?;
        with_engine(&self.data, async |engine| {
            // Looked up before the token is asked for.
            let source = engine.source(&self.slug).await?;
            let api = AnswerApi {
                base: self.url,
                token: read(&source.slug)?,
            };
            engine
                .set_answer_api(&master, &self.slug, &api, ACTOR)
                .await?;
            println!("{} is asked at {}", self.slug, api.base);
            Ok(())
        })
        .await
    }
}

impl AnswersRemove {
    async fn run(self) -> Outcome {
        with_engine(&self.data, async |engine| {
            if !engine.remove_answer_api(&self.slug, ACTOR).await? {
                return Err(format!("{} has no answer API", self.slug).into());
            }
            println!("{} is not asked any more", self.slug);
            Ok(())
        })
        .await
    }
}

/// A token from standard input, without the line end.
fn read(slug: &str) -> io::Result<String> {
    eprintln!("bearer token for {slug}, then Enter and Ctrl-D:");
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(64 << 10)
        .read_to_string(&mut text)?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
