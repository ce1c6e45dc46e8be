//! Planning a batch in memory: find each event's job, let the domain decide, keep rows in step.

mod jobs;

use std::{collections::HashMap, sync::Arc};

use chrono::{DateTime, Utc};
use domain::{
    adapter::Reading,
    decide::{self, Change, Decision},
    event::{EventState, IgnoreReason, RejectReason, WaitReason},
    fact::{Address, Fact, Verdict},
    job::State,
    money::Amount,
    price::Price,
    settlement::{Effect, SettlementKey, Subject},
};

pub(super) use self::jobs::{Jobs, Name};
use super::{
    PriceKey, Setting, SettleError,
    store::{Due, JobRow, Outcome, Recorded, Transition},
};
use crate::{
    error::StoreError,
    freeze::{Of, Seen},
    ledger::{Batch, Posting},
};

/// Reason of an event that met a settlement of the same key with other content.
const SETTLED_DIFFERENTLY: &str = "settled_differently";

/// What an adapter made of an event's body.
pub(super) type Read = Result<Reading, RejectReason>;

/// Reads an event's body.
pub(super) fn read(event: &Due) -> Read {
    event
        .adapter
        .fact(event.body.as_ref().ok_or(RejectReason::Unreadable)?)
}

/// The name of an event's job; `None` when the event is of no use.
pub(super) fn name(event: &Due, reading: &Read) -> Option<Name> {
    match reading {
        Ok(Reading::Fact { about, .. }) => Some(Name::of(event, about)),
        Ok(Reading::Unused(_)) | Err(_) => None,
    }
}

/// Whether a reading can move money, so that wallets have to be locked.
pub(super) fn may_move_money(reading: &Read) -> bool {
    matches!(reading, Ok(Reading::Fact { fact, .. }) if fact.verdict != Verdict::Running)
}

/// A batch being planned.
pub(super) struct Plan<'a> {
    setting: Setting<'a>,
    frozen: Seen,
    prices: HashMap<PriceKey, Arc<Price>>,
    recorded: HashMap<SettlementKey, Recorded>,
    now: DateTime<Utc>,
    pub(super) jobs: Jobs,
    pub(super) batch: Batch,
    pub(super) transitions: Vec<Transition>,
    pub(super) outcomes: Vec<Outcome>,
}

/// How planned effects compare with what is recorded.
enum Comparison {
    New,
    Same,
    Different,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        setting: Setting<'a>,
        frozen: Seen,
        jobs: Jobs,
        prices: HashMap<PriceKey, Arc<Price>>,
        recorded: HashMap<SettlementKey, Recorded>,
        batch: Batch,
        now: DateTime<Utc>,
    ) -> Self {
        Self {
            setting,
            frozen,
            prices,
            recorded,
            now,
            jobs,
            batch,
            transitions: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    /// Plans one event on top of those before it.
    pub(super) fn settle(&mut self, event: &Due, reading: Read) -> Result<(), SettleError> {
        let outcome = match reading {
            reading if self.frozen.source(event.source) => self.hold_back(event, &reading),
            Ok(Reading::Fact { about, fact }) => self.hear(event, &about, &fact)?,
            Ok(Reading::Unused(_)) => {
                event.outcome(EventState::Ignored, Some(IgnoreReason::UnusedType.as_str()))
            }
            Err(reason) => event.outcome(EventState::Rejected, Some(reason.as_str())),
        };
        self.outcomes.push(outcome);
        Ok(())
    }

    /// Leaves an event of a frozen source as it is, whatever it says. Its job is noted where it has one.
    fn hold_back(&self, event: &Due, reading: &Read) -> Outcome {
        let row = match reading {
            Ok(Reading::Fact { about, .. }) => {
                let at = self.jobs.resolve(&Name::of(event, about)).ok().flatten();
                at.map(|at| &self.jobs.rows[at])
                    .filter(|row| mismatch(event, about, row).is_none())
            }
            Ok(Reading::Unused(_)) | Err(_) => None,
        };
        let outcome = self.wait(event, WaitReason::SourceFrozen);
        match row {
            Some(row) => outcome.about(row),
            None => outcome,
        }
    }

    fn hear(&mut self, event: &Due, about: &Address, fact: &Fact) -> Result<Outcome, SettleError> {
        let name = Name::of(event, about);
        let at = match self.jobs.resolve(&name) {
            Ok(Some(at)) => at,
            Ok(None) => return Ok(self.wait_for_job(event)),
            Err(reason) => return Ok(event.outcome(EventState::Rejected, Some(reason.as_str()))),
        };
        let row = &self.jobs.rows[at];
        if let Some(reason) = mismatch(event, about, row) {
            return Ok(event
                .outcome(EventState::Rejected, Some(reason.as_str()))
                .about(row));
        }
        if self.frozen.tenant(row.tenant).is_some() {
            // Bound, so that the other events of the job find it too.
            self.jobs.bind(at, &name);
            let row = &self.jobs.rows[at];
            return Ok(self.wait(event, WaitReason::TenantFrozen).about(row));
        }
        let price = self.prices.get(&row.price_key()).ok_or_else(|| {
            StoreError::inconsistent(
                "jobs",
                "price_version",
                format!("{} has no readable price", row.id),
            )
        })?;
        let spendable = self.spendable(row, fact)?;
        let decision = decide::decide(&row.job, fact, row.policy, price, spendable)?;
        let (state, reason) = match decision {
            Decision::Apply(change) => self.apply(event, at, *change)?,
            Decision::Ignore(reason) => (EventState::Ignored, Some(reason.as_str())),
            Decision::Wait(reason) => {
                self.jobs.bind(at, &name);
                let row = &self.jobs.rows[at];
                return Ok(self.wait_with(row, event, reason).about(row));
            }
            Decision::Reject(reason) => (EventState::Rejected, Some(reason.as_str())),
        };
        if !matches!(state, EventState::Rejected | EventState::Conflict) {
            self.jobs.bind(at, &name);
        }
        Ok(event.outcome(state, reason).about(&self.jobs.rows[at]))
    }

    fn spendable(&self, row: &JobRow, fact: &Fact) -> Result<Amount, SettleError> {
        let nothing = Amount::zero(row.currency);
        match (&fact.verdict, self.batch.funds(row.tenant, row.wallet)) {
            (Verdict::Running, _) => Ok(nothing),
            (_, Some(funds)) if funds.frozen => Ok(nothing),
            (_, Some(funds)) => Ok(funds.spendable(self.now)?),
            (_, None) => Err(StoreError::inconsistent(
                "accounts",
                "wallet_id",
                format!("{} has no accounts", row.wallet),
            )
            .into()),
        }
    }

    /// Carries a change out on the rows in memory and plans its settlements.
    fn apply(
        &mut self,
        event: &Due,
        at: usize,
        change: Change,
    ) -> Result<(EventState, Option<&'static str>), SettleError> {
        let row = &self.jobs.rows[at];
        let key = |effect: &Effect| SettlementKey {
            tenant: row.tenant,
            subject: Subject::Job(row.id),
            phase: effect.phase,
            version: effect.version,
        };
        let postings: Vec<_> = change
            .effects
            .into_iter()
            .map(|effect| Posting {
                key: key(&effect),
                wallet: row.wallet,
                effect,
                event: Some(event.id),
            })
            .collect();
        let answer = match self.compare(&postings)? {
            Comparison::Different => return Ok((EventState::Conflict, Some(SETTLED_DIFFERENTLY))),
            // The settlement is there, only the job does not know it: bring the job up to it.
            Comparison::Same => (
                EventState::Ignored,
                Some(IgnoreReason::AlreadySettled.as_str()),
            ),
            Comparison::New => {
                for posting in &postings {
                    self.batch.add(self.setting.engine, posting)?;
                }
                (EventState::Applied, None)
            }
        };
        let row = &mut self.jobs.rows[at];
        if row.job.state != change.job.state {
            row.transition_count += 1;
            row.state_changed = true;
            self.transitions.push(Transition {
                tenant: row.tenant,
                job: row.id,
                number: row.transition_count,
                from: row.job.state,
                to: change.job.state,
                event: event.id,
                detail: change.job.state_reason.clone(),
            });
        }
        row.job = change.job;
        self.jobs.changed.insert(at);
        Ok(answer)
    }

    fn compare(&self, postings: &[Posting]) -> Result<Comparison, SettleError> {
        let mut recorded = 0;
        for posting in postings {
            let Some(found) = self.recorded.get(&posting.key) else {
                continue;
            };
            let hash = posting
                .effect
                .content_hash(&posting.key)
                .map_err(crate::ledger::PostError::from)?;
            if found.content_hash != hash || found.wallet != posting.wallet {
                return Ok(Comparison::Different);
            }
            recorded += 1;
        }
        Ok(match recorded {
            0 => Comparison::New,
            n if n == postings.len() => Comparison::Same,
            _ => Comparison::Different,
        })
    }

    fn wait_for_job(&self, event: &Due) -> Outcome {
        if self.is_overdue(event, None) {
            return event.outcome(
                EventState::Rejected,
                Some(RejectReason::UnknownJob.as_str()),
            );
        }
        self.wait(event, WaitReason::Job)
    }

    /// Waits for what a known job lacks. A completion may follow a verdict of failure, but not for ever.
    fn wait_with(&self, row: &JobRow, event: &Due, reason: WaitReason) -> Outcome {
        let given_up = match reason {
            WaitReason::Completion => {
                !row.job.state.in_flight() && self.is_overdue(event, Some(row))
            }
            WaitReason::Job
            | WaitReason::Funds
            | WaitReason::TenantFrozen
            | WaitReason::SourceFrozen => false,
        };
        if given_up {
            let reason = RejectReason::NothingToCorrect.as_str();
            return event.outcome(EventState::Rejected, Some(reason));
        }
        self.wait(event, reason)
    }

    /// Whether it has waited for long enough. What a freeze held back begins to wait at the lift.
    fn is_overdue(&self, event: &Due, row: Option<&JobRow>) -> bool {
        let source = self.frozen.lifted(Of::Source(event.source));
        let tenant = row.and_then(|row| self.frozen.lifted(Of::Tenant(row.tenant)));
        let since = source.max(tenant).max(Some(event.received_at));
        since.is_some_and(|since| self.now - since >= self.setting.patience.unknown_job)
    }

    fn wait(&self, event: &Due, reason: WaitReason) -> Outcome {
        let due_at = Some(
            self.setting
                .patience
                .next_for(reason, self.now, event.attempts),
        );
        let attempts = event.attempts.saturating_add(1);
        Outcome {
            due_at,
            attempts,
            ..event.outcome(EventState::Waiting, Some(reason.as_str()))
        }
    }
}

/// What makes an event unfit for the job it names.
fn mismatch(event: &Due, about: &Address, row: &JobRow) -> Option<RejectReason> {
    if row.livemode != event.livemode {
        return Some(RejectReason::ModeMismatch);
    }
    if row.source.is_some_and(|source| source != event.source) {
        return Some(RejectReason::SourceMismatch);
    }
    if about
        .model
        .as_ref()
        .is_some_and(|model| *model != row.model)
    {
        return Some(RejectReason::ModelMismatch);
    }
    (row.job.state == State::Blocked).then_some(RejectReason::JobBlocked)
}
