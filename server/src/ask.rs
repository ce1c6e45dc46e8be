//! Asks a provider how a job stands. What it answers is stored through the inbox, like what it sends, and
//! settled by the same workers: nothing here decides about money.
//!
//! The call is made outside every transaction: the question is committed before it, the outcome after it.
//! Who asked may go away meanwhile; the answer is kept all the same.

use std::time::Duration;

use domain::{
    ask::Outcome,
    canonical::Hash,
    id::{EventId, JobId},
};
use engine::{
    Engine,
    ask::{Ask, AskError},
    audit::By,
    error::StoreError,
    inbox::{Accepted, Delivery, InboxWriter},
    source::MasterKeyError,
};
use tokio::task::JoinError;

use crate::{
    config::DataArgs,
    outbound::{self, GetError, Got},
};

/// How long an answer may take.
pub const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Asks providers.
#[derive(Clone, Debug)]
pub struct Asker {
    engine: Engine,
    inbox: InboxWriter,
    data: DataArgs,
    client: reqwest::Client,
}

/// What came of asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// In a word.
    pub(crate) outcome: Outcome,
    /// HTTP status of the answer.
    pub(crate) status: Option<u16>,
    /// Whether the same answer is known.
    pub(crate) known: bool,
}

/// Why nothing was asked, or nobody knows what came of it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskingError {
    /// It may not be asked.
    #[error(transparent)]
    Refused(#[from] AskError),
    /// There is no key to open tokens with.
    #[error(transparent)]
    Key(#[from] MasterKeyError),
    /// The outcome could not be written down.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The task that asked ended before its time.
    #[error("the question was lost")]
    Lost(#[from] JoinError),
}

impl Asker {
    /// An asker that stores answers in this inbox, with the key of this installation, and waits no longer
    /// than `limit`.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(
        engine: Engine,
        inbox: InboxWriter,
        data: DataArgs,
        limit: Duration,
    ) -> Result<Self, reqwest::Error> {
        let client = outbound::client(limit)?;
        Ok(Self {
            engine,
            inbox,
            data,
            client,
        })
    }

    /// Asks how a job stands.
    ///
    /// # Errors
    /// [`AskingError`]; what the provider does wrong is an outcome.
    pub(crate) async fn ask(&self, job: JobId, by: By<'_>) -> Result<Told, AskingError> {
        let master = self.data.master_key()?;
        let ask = self.engine.begin_ask(&master, job, by).await?;
        let asker = self.clone();
        // A task of its own: a question that was written down is carried out.
        Ok(tokio::spawn(async move { asker.carry_out(&ask).await }).await??)
    }

    async fn carry_out(&self, ask: &Ask) -> Result<Told, StoreError> {
        let url = ask.api.base.at(&ask.path);
        let got = outbound::get(&self.client, &url, &ask.api.token, ask.body_limit_bytes).await;
        let (told, kept) = match got {
            Ok(got) => self.take(ask, got).await,
            Err(error) => {
                let outcome = match &error {
                    GetError::Unreachable(_) => Outcome::Unreachable,
                    GetError::TooSlow => Outcome::TooSlow,
                    GetError::TooLarge(_) => Outcome::TooLarge,
                };
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(source = ask.slug, job = %ask.job, %error, cause, "a provider was asked in vain");
                (Told::nothing(outcome, None), None)
            }
        };
        let came = (told.outcome, told.status);
        self.engine.end_ask(ask, came, kept).await?;
        metrics::counter!("asks_total", "outcome" => told.outcome.as_str()).increment(1);
        Ok(told)
    }

    /// Stores an answer about the job; `None` when there is nothing to keep.
    async fn take(&self, ask: &Ask, got: Got) -> (Told, Option<EventId>) {
        let status = got.status;
        let nothing = |outcome| (Told::nothing(outcome, Some(status)), None);
        if let Some(outcome) = of_status(status) {
            return nothing(outcome);
        }
        let answer = match ask.adapter.answer(ask.question(), &got.body) {
            Ok(answer) => answer,
            Err(outcome) => return nothing(outcome),
        };
        let delivery = Delivery {
            source: ask.source,
            source_slug: ask.slug.clone(),
            livemode: ask.livemode,
            envelope: answer.envelope,
            raw_hash: Hash::of_bytes(&got.body),
            body: got.body.into(),
            headers: got.headers,
            sender_id: None,
            remote_address: None,
            status,
            received_at: self.engine.clock().now(),
            asked: true,
        };
        match self.inbox.accept(delivery).await {
            Ok(accepted) => {
                let told = Told {
                    outcome: answer.outcome,
                    status: Some(status),
                    known: !matches!(accepted, Accepted::New(_)),
                };
                (told, Some(accepted.event()))
            }
            Err(error) => {
                tracing::error!(%error, job = %ask.job, "an answer was not stored");
                nothing(Outcome::NotStored)
            }
        }
    }
}

impl Told {
    fn nothing(outcome: Outcome, status: Option<u16>) -> Self {
        Self {
            outcome,
            status,
            known: false,
        }
    }
}

/// What a status other than success means.
fn of_status(status: u16) -> Option<Outcome> {
    match status {
        200..=299 => None,
        300..=399 => Some(Outcome::Redirected),
        401 | 403 => Some(Outcome::Refused),
        404 | 410 => Some(Outcome::NotFound),
        _ => Some(Outcome::Failed),
    }
}
