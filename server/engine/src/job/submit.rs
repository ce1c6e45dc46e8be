//! Submission: find the client request, or hold funds for new work, in one transaction.
//!
//! Steps: look the client request up → read the freezes → lock the wallet → look it up again (the one we
//! waited for may have been the same request) → refuse what policy refuses → price → draw lots → job, transition,
//! reserve settlement. A refusal writes nothing, except that a job over the tenant's limit is recorded
//! as blocked. Two submissions of one client request through different wallets do not queue on one
//! lock; there the unique constraint decides, and the loser reads what was recorded.

use domain::{
    canonical::{CanonicalError, Hash},
    id::{JobId, SourceId, TenantId, WalletId},
    job::State,
    money::{Amount, AmountError},
    price::{RatingError, Snapshot, UnknownMeters},
    settlement::{Effect, Entry, EntryType, Phase, SettlementKey, Subject},
    usage::{Estimated, Usage},
};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use super::{
    store,
    views::{self, JobView},
};
use crate::{
    Engine,
    error::StoreError,
    freeze,
    ledger::{self, Funds, PostError, Posting},
    live::Topic,
    price, tenant, wallet,
};

/// What a product backend asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// Tenant that pays.
    pub tenant: TenantId,
    /// Mode of the key that asks.
    pub livemode: bool,
    /// Wallet that pays.
    pub wallet: WalletId,
    /// The tenant's own user.
    pub user: String,
    /// Idempotency key.
    pub client_request_id: String,
    /// Model that will do the work.
    pub model: String,
    /// Usage the quote is rated from; the price's own when left out.
    pub estimate: Option<Usage<Estimated>>,
    /// Slug of the source whose events will speak of the job, where it is known.
    pub source: Option<String>,
    /// Whether completion waits for a stored output.
    pub output_required: bool,
}

impl Request {
    /// Hash over everything that must be equal when the same client request comes again.
    fn hash(&self) -> Result<Hash, CanonicalError> {
        Hash::of(&json!({
            "wallet": self.wallet,
            "model": self.model,
            "estimate": self.estimate,
            "source": self.source,
            "output_required": self.output_required,
        }))
    }
}

/// What came of a submission.
#[derive(Clone, PartialEq, Debug)]
pub struct Submission {
    /// The job; in state `blocked` when local policy refused it.
    pub job: JobView,
    /// False when an earlier, equal request made it.
    pub created: bool,
    /// What may still be spent from the wallet.
    pub remaining: Amount,
}

/// Why nothing was submitted. Nothing is written in any of these cases.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// No such wallet of this tenant and mode.
    #[error("{0} is no wallet of this tenant and mode")]
    UnknownWallet(WalletId),
    /// No such source, or one of the other mode.
    #[error("there is no source {0:?} of this mode")]
    UnknownSource(String),
    /// Spending is stopped.
    #[error("the wallet is frozen: {0}")]
    Frozen(String),
    /// The tenant's billing is stopped.
    #[error("{tenant} is frozen: {reason}")]
    TenantFrozen {
        /// The tenant.
        tenant: TenantId,
        /// Why.
        reason: String,
    },
    /// In-flight cap.
    #[error("{0} jobs are unsettled, which is the tenant's limit")]
    TooManyInFlight(i32),
    /// No price in force.
    #[error("{model:?} has no price in {currency}")]
    UnknownModel {
        /// Model asked for.
        model: String,
        /// Currency of the wallet.
        currency: domain::money::Currency,
    },
    /// The estimate cannot be priced.
    #[error("the estimate cannot be priced")]
    Estimate(#[from] RatingError),
    /// Funds do not cover the quote.
    #[error("the quote is {quote}, but only {spendable} may be spent")]
    Short {
        /// The quote.
        quote: Amount,
        /// What the wallet's unexpired lots cover.
        spendable: Amount,
    },
    /// The client request id belongs to another request.
    #[error("the client request id was used for another request, which made {0}")]
    KeyReused(JobId),
    /// The unique constraint decided a race against us; the recorded job is to be read.
    #[error("the same client request was submitted at the same moment")]
    Raced,
    /// Posting failed.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The content cannot be hashed.
    #[error(transparent)]
    Canonical(#[from] CanonicalError),
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<AmountError> for SubmitError {
    fn from(error: AmountError) -> Self {
        Self::Post(error.into())
    }
}

impl From<sqlx::Error> for SubmitError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A job about to be written.
pub(super) struct NewJob<'a> {
    pub(super) id: JobId,
    pub(super) request: &'a Request,
    pub(super) request_hash: Hash,
    pub(super) source: Option<SourceId>,
    pub(super) snapshot: &'a Snapshot,
    pub(super) estimate: &'a Usage<Estimated>,
    pub(super) quote: Amount,
    pub(super) refund_on_failure: bool,
    /// `None` when it is blocked.
    pub(super) blocked: Option<String>,
}

/// Submits inside the caller's transaction. On [`SubmitError::Raced`] that transaction is dead.
///
/// # Errors
/// [`SubmitError`].
pub async fn submit(
    conn: &mut PgConnection,
    engine: &Engine,
    request: &Request,
) -> Result<Submission, SubmitError> {
    let request_hash = request.hash()?;
    if let Some(known) = recorded(conn, engine, request, request_hash).await? {
        return Ok(known);
    }
    let source = source_of(conn, request).await?;
    let frozen = freeze::seen(conn, engine.clock().now()).await?;
    let locked = ledger::lock(conn, &[(request.tenant, request.wallet)], &[]).await?;
    if let Some(known) = recorded(conn, engine, request, request_hash).await? {
        return Ok(known);
    }
    let funds = locked
        .get(request.tenant, request.wallet)
        .filter(|funds| funds.livemode == request.livemode)
        .ok_or(SubmitError::UnknownWallet(request.wallet))?;
    if let Some(reason) = frozen.tenant(request.tenant) {
        let (tenant, reason) = (request.tenant, reason.to_owned());
        return Err(SubmitError::TenantFrozen { tenant, reason });
    }
    let now = engine.clock().now();
    let rules = tenant::rules(conn, request.tenant, request.wallet).await?;
    if let Some(reason) = rules.frozen_reason {
        return Err(SubmitError::Frozen(reason));
    }
    if rules.in_flight >= i64::from(rules.in_flight_limit) {
        return Err(SubmitError::TooManyInFlight(rules.in_flight_limit));
    }
    let currency = funds.currency;
    let price = price::in_force(conn, &request.model, currency, now).await?;
    let price = price.ok_or_else(|| SubmitError::UnknownModel {
        model: request.model.clone(),
        currency,
    })?;
    let estimate = request.estimate.as_ref().unwrap_or(&price.terms.estimate);
    let snapshot = price.rate(estimate, UnknownMeters::Refuse)?;
    let quote = snapshot.amount()?;
    let blocked =
        (!rules.allow(quote)).then(|| format!("the quote of {quote} is over the tenant's limit"));
    let remaining = match blocked {
        Some(_) => funds.spendable(now)?,
        None => remaining_after(funds, quote, now)?,
    };
    let new = NewJob {
        id: JobId(engine.mint()),
        request,
        request_hash,
        source,
        snapshot: &snapshot,
        estimate,
        quote,
        refund_on_failure: rules.refund_on_failure,
        blocked,
    };
    store::insert(conn, &new, now).await?;
    if new.blocked.is_none() {
        let posting = reserve(&new);
        ledger::post(conn, engine, locked, &[posting], now).await?;
    }
    let job = views::find(conn, request.tenant, request.livemode, new.id)
        .await?
        .ok_or(SubmitError::Raced)?;
    Ok(Submission {
        job,
        created: true,
        remaining,
    })
}

fn remaining_after(
    funds: &Funds,
    quote: Amount,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Amount, SubmitError> {
    let spendable = funds.spendable(now)?;
    let remaining = spendable.minus(quote)?;
    if remaining.value().is_sign_negative() && !remaining.is_zero() {
        return Err(SubmitError::Short { quote, spendable });
    }
    Ok(remaining)
}

/// The first hold. A quote of nothing holds nothing, but the phase is on record all the same.
fn reserve(new: &NewJob<'_>) -> Posting {
    let (phase, version, amount) = (Phase::Reserve, 1, new.quote);
    let hold = Entry {
        entry_type: EntryType::Hold,
        amount,
    };
    let entries = Vec::from_iter(amount.is_positive().then_some(hold));
    let snapshot = json!({ "quote": new.snapshot, "estimate": new.estimate });
    Posting {
        key: SettlementKey {
            tenant: new.request.tenant,
            subject: Subject::Job(new.id),
            phase,
            version,
        },
        wallet: new.request.wallet,
        effect: Effect {
            phase,
            version,
            amount,
            entries,
            snapshot,
        },
        event: None,
    }
}

async fn source_of(
    conn: &mut PgConnection,
    request: &Request,
) -> Result<Option<SourceId>, SubmitError> {
    let Some(slug) = &request.source else {
        return Ok(None);
    };
    match store::source_by_slug(conn, slug).await? {
        Some((source, livemode)) if livemode == request.livemode => Ok(Some(source)),
        Some(_) | None => Err(SubmitError::UnknownSource(slug.clone())),
    }
}

/// The job an earlier submission of the same client request made, if there is one.
async fn recorded(
    conn: &mut PgConnection,
    engine: &Engine,
    request: &Request,
    hash: Hash,
) -> Result<Option<Submission>, SubmitError> {
    let known = store::by_client_request(conn, request).await?;
    let Some((job, known_hash)) = known else {
        return Ok(None);
    };
    if known_hash != hash {
        return Err(SubmitError::KeyReused(job));
    }
    let view = views::find(conn, request.tenant, request.livemode, job).await?;
    let job = view.ok_or(SubmitError::UnknownWallet(request.wallet))?;
    let now = engine.clock().now();
    let wallet = wallet::views::find(conn, request.tenant, request.livemode, request.wallet, now)
        .await?
        .ok_or(SubmitError::UnknownWallet(request.wallet))?;
    Ok(Some(Submission {
        job,
        created: false,
        remaining: wallet.spendable,
    }))
}

impl Engine {
    /// Submits in a transaction of its own. A lost race, and a commit whose outcome is unknown, are
    /// resolved by reading the client request.
    ///
    /// # Errors
    /// [`SubmitError`], never [`SubmitError::Raced`].
    pub async fn submit_job(&self, request: &Request) -> Result<Submission, SubmitError> {
        let mut conn = self.pool().acquire().await?;
        let mut tx = conn.begin().await?;
        match submit(&mut tx, self, request).await {
            Ok(submission) => match tx.commit().await.map_err(StoreError::from) {
                Ok(()) => {
                    if submission.created {
                        self.news().count(Topic::Jobs, 1);
                    }
                    Ok(submission)
                }
                Err(error) if error.outcome_unknown() => {
                    drop(conn);
                    let minted = submission.job.id;
                    let known = self.recorded_job(request).await?.ok_or(error)?;
                    let created = known.job.id == minted;
                    Ok(Submission { created, ..known })
                }
                Err(error) => Err(error.into()),
            },
            Err(SubmitError::Raced) => {
                tx.rollback().await?;
                drop(conn);
                let lost = "a client request both exists and cannot be found";
                let known = self.recorded_job(request).await?;
                known.ok_or_else(|| {
                    StoreError::inconsistent("jobs", "client_request_id", lost).into()
                })
            }
            Err(error) => Err(error),
        }
    }

    async fn recorded_job(&self, request: &Request) -> Result<Option<Submission>, SubmitError> {
        let mut conn = self.pool().acquire().await?;
        recorded(&mut conn, self, request, request.hash()?).await
    }
}

impl NewJob<'_> {
    /// State it starts in.
    pub(super) fn state(&self) -> State {
        if self.blocked.is_some() {
            State::Blocked
        } else {
            State::Pending
        }
    }
}
