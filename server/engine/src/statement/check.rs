//! Checking the newest accepted statement of every source and period against our usage.
//!
//! The entries of both sides stream in the order of their groups from one snapshot; each group is decided
//! by [`domain::statement`] when its last entry was heard, so one group is in memory at a time, and one for each
//! match of people, which is decided when all its parts were. What does not
//! match is kept for the statement's page; what alarms is a break of [`Class::StatedUsage`]. Cost: a pass over
//! the lines of these statements and the jobs of their periods.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use domain::{
    exception::Class,
    id::{JobId, MatchId, SourceId, TenantId},
    statement::{Group, GroupKey, Outcome},
    usage::Meter,
};
use futures::TryStreamExt;
use sqlx::{Postgres, Transaction};

use super::{
    store::{self, Kept},
    views::{self, EntryRow, InForce, Terms},
};
use crate::{
    Engine,
    books::{Break, MOST_BREAKS},
    error::StoreError,
};

/// Groups that are written at once.
const BATCH: usize = 1000;

/// How many groups came to which outcome.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally(BTreeMap<Outcome, i64>);

impl Tally {
    /// Groups of an outcome.
    pub fn of(&self, outcome: Outcome) -> i64 {
        self.0.get(&outcome).copied().unwrap_or_default()
    }

    /// All groups.
    pub fn groups(&self) -> i64 {
        self.0.values().sum()
    }

    /// Groups that someone has to look at.
    pub fn alarms(&self) -> i64 {
        let alarming = self.0.iter().filter(|(outcome, _)| outcome.alarms());
        alarming.map(|(_, groups)| groups).sum()
    }

    pub(super) fn count(&mut self, outcome: Outcome, groups: i64) {
        *self.0.entry(outcome).or_default() += groups;
    }
}

/// What was found to disagree.
#[derive(Default)]
pub(crate) struct Found {
    /// The first disagreements, in the order of statements and groups.
    pub(crate) breaks: Vec<Break>,
    /// Whether there are more.
    pub(crate) is_cut_short: bool,
}

/// Checks the newest accepted statement of every period: of one source, or of all.
pub(crate) async fn run(engine: &Engine, source: Option<SourceId>) -> Result<Found, StoreError> {
    let mut snapshot = engine
        .pool()
        .begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        .await?;
    let terms = views::newest(&mut snapshot, source).await?;
    let matches = views::in_force(&mut snapshot, source).await?;
    let mut check = Check {
        engine,
        matches,
        now: engine.clock().now(),
        found: Found::default(),
    };
    let mut open: Option<Open<'_>> = None;
    let mut entries = views::entries(&mut snapshot, source);
    while let Some(row) = entries.try_next().await? {
        if let Some(mut at) = open.take() {
            if at.is_of(&row) {
                at.add(row);
                open = Some(at);
                continue;
            }
            if at.terms.id == row.statement {
                at.close_group(&mut check, Some(row)).await?;
                open = Some(at);
                continue;
            }
            at.close_group(&mut check, None).await?;
            at.finish(&mut check).await?;
        }
        let of = terms.iter().find(|terms| terms.id == row.statement);
        let of = of.ok_or_else(|| {
            StoreError::inconsistent("statements", "statement_id", row.statement.to_string())
        })?;
        open = Some(Open::begin(&check, of, row).await?);
    }
    drop(entries);
    if let Some(mut at) = open {
        at.close_group(&mut check, None).await?;
        at.finish(&mut check).await?;
    }
    snapshot.rollback().await?;
    Ok(check.found)
}

struct Check<'e> {
    engine: &'e Engine,
    matches: InForce,
    now: DateTime<Utc>,
    found: Found,
}

/// A group with its names.
struct Named {
    reference: String,
    meter: Meter,
    group: Group,
    job: Option<(TenantId, JobId)>,
}

impl From<EntryRow> for Named {
    fn from(row: EntryRow) -> Self {
        let mut group = Group::default();
        group.add(row.entry);
        Self {
            reference: row.reference,
            meter: row.meter,
            group,
            job: row.job,
        }
    }
}

/// The statement that is read, its group that is, and the matches of which a part was.
struct Open<'t> {
    terms: &'t Terms,
    tx: Transaction<'static, Postgres>,
    tally: Tally,
    written: i64,
    kept: Vec<Kept>,
    at: Named,
    matches: BTreeMap<MatchId, Named>,
}

impl<'t> Open<'t> {
    async fn begin(check: &Check<'_>, terms: &'t Terms, row: EntryRow) -> Result<Self, StoreError> {
        let mut tx = check.engine.pool().begin().await?;
        // Two checks of one statement write one after the other.
        store::lock_key(&mut tx, terms.id).await?;
        store::forget_groups(&mut tx, terms.id).await?;
        Ok(Self {
            terms,
            tx,
            tally: Tally::default(),
            written: 0,
            kept: Vec::new(),
            at: row.into(),
            matches: BTreeMap::new(),
        })
    }

    fn is_of(&self, row: &EntryRow) -> bool {
        let at = &self.at;
        self.terms.id == row.statement && at.reference == row.reference && at.meter == row.meter
    }

    fn add(&mut self, row: EntryRow) {
        self.at.group.add(row.entry);
        self.at.job = self.at.job.or(row.job);
    }

    /// Decides the group, or puts it to the match that it is a part of, and begins the next.
    async fn close_group(
        &mut self,
        check: &mut Check<'_>,
        next: Option<EntryRow>,
    ) -> Result<(), StoreError> {
        let (meter, reference) = (&self.at.meter, &self.at.reference);
        let of = (self.terms.id, meter.as_str().to_owned(), reference.clone());
        match check.matches.get(&of).copied() {
            None => self.decide(check),
            Some(id) => {
                self.keep(self.at.group.outcome(self.terms.tolerance), Some(id));
                let whole = self.matches.entry(id).or_insert_with(|| Named {
                    reference: id.to_string(),
                    meter: self.at.meter.clone(),
                    group: Group::default(),
                    job: None,
                });
                whole.group.join(&self.at.group);
                whole.job = whole.job.or(self.at.job);
            }
        }
        if let Some(row) = next {
            self.at = row.into();
        }
        if self.kept.len() >= BATCH {
            self.write().await?;
        }
        Ok(())
    }

    fn decide(&mut self, check: &mut Check<'_>) {
        let outcome = self.at.group.outcome(self.terms.tolerance);
        self.tally.count(outcome, 1);
        if outcome.alarms() {
            if check.found.breaks.len() < MOST_BREAKS {
                check.found.breaks.push(self.found(outcome));
            } else {
                check.found.is_cut_short = true;
            }
        }
        if outcome != Outcome::Matched {
            self.keep(outcome, None);
        }
    }

    fn keep(&mut self, outcome: Outcome, part_of: Option<MatchId>) {
        let at = &self.at;
        self.kept.push(Kept {
            reference: at.reference.clone(),
            meter: at.meter.as_str().to_owned(),
            outcome,
            ours: at.group.ours(),
            theirs: at.group.theirs(),
            job: at.job,
            part_of,
        });
    }

    async fn write(&mut self) -> Result<(), StoreError> {
        store::keep_groups(&mut self.tx, self.terms.id, self.written, &self.kept).await?;
        self.written += i64::try_from(self.kept.len()).unwrap_or(i64::MAX);
        self.kept.clear();
        Ok(())
    }

    async fn finish(mut self, check: &mut Check<'_>) -> Result<(), StoreError> {
        for whole in std::mem::take(&mut self.matches).into_values() {
            self.at = whole;
            self.decide(check);
        }
        self.write().await?;
        store::keep_tally(&mut self.tx, self.terms.id, &self.tally, check.now).await?;
        self.tx.commit().await?;
        Ok(())
    }

    fn found(&self, outcome: Outcome) -> Break {
        let (source, period) = (&self.terms.source, self.terms.period);
        let Named {
            reference,
            meter,
            group,
            job,
        } = &self.at;
        let ours = group.ours().unwrap_or_default().normalize();
        let theirs = group.theirs().unwrap_or_default().normalize();
        let told = match outcome {
            Outcome::MissingWithUs => {
                format!(
                    "{source} states {theirs} {meter} for {reference}, of which we have no usage"
                )
            }
            Outcome::MissingWithProvider => {
                format!("{source} does not state {reference}, for which we have {ours} {meter}")
            }
            Outcome::Differs | Outcome::Matched | Outcome::WithinTolerance | Outcome::Timing => {
                format!("{source} states {theirs} {meter} for {reference}, we have {ours}")
            }
        };
        let key = GroupKey {
            source: source.clone(),
            livemode: self.terms.livemode,
            period,
            meter: meter.clone(),
            reference: reference.clone(),
        };
        let line = format!("{told}, from {} to {}", period.from(), period.to());
        Break {
            tenant: job.map(|(tenant, _)| tenant),
            expected: group.theirs(),
            actual: group.ours(),
            ..Break::about(Class::StatedUsage, key.to_string(), line)
        }
    }
}
