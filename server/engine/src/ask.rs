//! Asking a provider how a job stands: the question before the network is used, its outcome after it.
//!
//! Invariants: one question about a job at a time and not too often, which `asks_pkey` and
//! `asks_take_turns` hold; a question and its line in the audit log are one transaction; what a provider
//! answers changes nothing here, it goes through the inbox like what it sends.

mod store;
pub mod views;

use domain::{
    adapter::{Adapter, Question},
    ask::{self, NotYet, Outcome},
    id::{EventId, JobId, SourceId, TenantId},
    job::State,
};
use serde_json::json;

use crate::{
    Engine,
    audit::{self, By},
    error::StoreError,
    live::Topic,
    source::{AnswerApi, MasterKey, SourceError, answer_api},
};

/// A question that was written down, and where to put it.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Tenant of the job.
    pub tenant: TenantId,
    /// The job.
    pub job: JobId,
    /// Which question about the job.
    pub number: i32,
    /// The source whose provider is asked.
    pub source: SourceId,
    /// Its slug.
    pub slug: String,
    /// Its mode.
    pub livemode: bool,
    /// How its answers are read.
    pub adapter: Adapter,
    /// Largest answer that is read.
    pub body_limit_bytes: usize,
    /// The provider's id of the work.
    pub reference: String,
    /// The path at which it is asked.
    pub path: String,
    /// Where, and with which token.
    pub api: AnswerApi,
}

impl Ask {
    /// What is asked about.
    pub fn question(&self) -> Question<'_> {
        Question {
            reference: &self.reference,
            job: self.job,
        }
    }
}

/// Why a provider is not asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No such job.
    #[error("there is no such job")]
    UnknownJob,
    /// Nobody works on it.
    #[error("the job is {0}, so there is nothing to ask")]
    NotInFlight(State),
    /// No provider has it.
    #[error("the job was not handed to a provider yet, so there is nobody to ask")]
    NotHandedOver,
    /// What comes of its source is refused.
    #[error("the source {0} is switched off")]
    SwitchedOff(String),
    /// Nobody has said where to ask.
    #[error(
        "the source {0} has no answer API; an administrator sets one with: quittance source answers set {0} --url URL"
    )]
    NoAnswerApi(String),
    /// The reference cannot stand in an address.
    #[error("the provider's reference {0:?} cannot be asked about")]
    Unaskable(String),
    /// Not yet.
    #[error(transparent)]
    NotYet(#[from] NotYet),
    /// The token cannot be opened.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Engine {
    /// Writes a question down, and who asks it.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn begin_ask(
        &self,
        master: &MasterKey,
        job: JobId,
        by: By<'_>,
    ) -> Result<Ask, AskError> {
        let mut tx = self.pool().begin().await.map_err(StoreError::from)?;
        let found = store::job(&mut tx, job).await?;
        let found = found.ok_or(AskError::UnknownJob)?;
        if !found.state.in_flight() {
            return Err(AskError::NotInFlight(found.state));
        }
        let work = found.work.ok_or(AskError::NotHandedOver)?;
        if work.is_off {
            return Err(AskError::SwitchedOff(work.slug));
        }
        let api = answer_api::open(&mut tx, master, work.source).await?;
        let api = api.ok_or_else(|| AskError::NoAnswerApi(work.slug.clone()))?;
        let path = work.adapter.question(&work.reference);
        let path = path.ok_or_else(|| AskError::Unaskable(work.reference.clone()))?;
        let now = self.clock().now();
        let number = ask::next(store::before(&mut tx, (found.tenant, job)).await?, now)?;
        let question = Ask {
            tenant: found.tenant,
            job,
            number,
            source: work.source,
            slug: work.slug,
            livemode: work.livemode,
            adapter: work.adapter,
            body_limit_bytes: work.body_limit_bytes,
            reference: work.reference,
            path,
            api,
        };
        store::insert(&mut tx, &question, by.operator, now).await?;
        let object = job.to_string();
        let detail = json!({
            "source": question.slug, "provider_reference": question.reference, "number": number.to_string(),
        });
        let line = by.did("job.ask", &object, detail, None);
        audit::record(&mut tx, self, &line).await?;
        tx.commit().await.map_err(StoreError::from)?;
        Ok(question)
    }

    /// Writes down what came of a question. `kept` is the event an answer is kept as.
    ///
    /// # Errors
    /// When storage fails; the question then counts as lost after a while.
    pub async fn end_ask(
        &self,
        ask: &Ask,
        (outcome, status): (Outcome, Option<u16>),
        kept: Option<EventId>,
    ) -> Result<(), StoreError> {
        let now = self.clock().now();
        let mut conn = self.connection().await?;
        store::insert_answer(&mut conn, ask, (outcome, status), kept, now).await?;
        self.news().count(Topic::Jobs, 1);
        Ok(())
    }
}
