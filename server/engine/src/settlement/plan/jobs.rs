//! The jobs of a batch: how events name them, and which one a name means.

use std::collections::{HashMap, HashSet};

use domain::{
    event::RejectReason,
    fact::Address,
    id::{JobId, SourceId, TenantId, WalletId},
};

use crate::settlement::{
    PriceKey,
    store::{Due, JobRow},
};

/// How an event names its job: our id, the provider's, or both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::settlement) struct Name {
    pub(in crate::settlement) source: SourceId,
    pub(in crate::settlement) job: Option<JobId>,
    pub(in crate::settlement) reference: Option<String>,
}

impl Name {
    pub(super) fn of(event: &Due, about: &Address) -> Self {
        Self {
            source: event.source,
            job: about.job.or(event.job_hint),
            reference: about
                .provider_reference
                .clone()
                .or_else(|| event.provider_reference.clone()),
        }
    }
}

/// The locked jobs of a batch, found by either name.
#[derive(Debug)]
pub(in crate::settlement) struct Jobs {
    pub(super) rows: Vec<JobRow>,
    by_id: HashMap<JobId, Vec<usize>>,
    by_reference: HashMap<(SourceId, String), Vec<usize>>,
    pub(super) changed: HashSet<usize>,
}

impl Jobs {
    pub(in crate::settlement) fn new(rows: Vec<JobRow>) -> Self {
        let mut jobs = Self {
            rows: Vec::new(),
            by_id: HashMap::new(),
            by_reference: HashMap::new(),
            changed: HashSet::new(),
        };
        for (at, row) in rows.iter().enumerate() {
            jobs.by_id.entry(row.id).or_default().push(at);
            if let (Some(source), Some(reference)) = (row.source, &row.reference) {
                jobs.by_reference
                    .entry((source, reference.clone()))
                    .or_default()
                    .push(at);
            }
        }
        Self { rows, ..jobs }
    }

    pub(in crate::settlement) fn keys(&self) -> Vec<(TenantId, JobId)> {
        self.rows.iter().map(|row| (row.tenant, row.id)).collect()
    }

    pub(in crate::settlement) fn wallets(&self) -> Vec<(TenantId, WalletId)> {
        self.rows
            .iter()
            .map(|row| (row.tenant, row.wallet))
            .collect()
    }

    pub(in crate::settlement) fn price_keys(&self) -> Vec<PriceKey> {
        self.rows.iter().map(JobRow::price_key).collect()
    }

    pub(in crate::settlement) fn changed(&self) -> impl Iterator<Item = &JobRow> {
        self.rows
            .iter()
            .enumerate()
            .filter(|(at, _)| self.changed.contains(at))
            .map(|(_, row)| row)
    }

    /// Finds the one job a name means. Both names, where given, must mean the same job.
    pub(super) fn resolve(&self, name: &Name) -> Result<Option<usize>, RejectReason> {
        let found = |jobs: Option<&Vec<usize>>| jobs.cloned().unwrap_or_default();
        let by_id = found(name.job.and_then(|id| self.by_id.get(&id)));
        let reference = name
            .reference
            .as_ref()
            .map(|reference| (name.source, reference.clone()));
        let by_reference = found(reference.and_then(|reference| self.by_reference.get(&reference)));
        match (name.job, by_id.as_slice(), by_reference.as_slice()) {
            (None, _, []) | (Some(_), [], []) => Ok(None),
            (None, _, [one]) => Ok(Some(*one)),
            (None, _, [_, ..]) | (Some(_), [_, _, ..], _) => Err(RejectReason::ReferenceAmbiguous),
            (Some(_), [one], []) => {
                let row = &self.rows[*one];
                let other = name.reference.is_some()
                    && row.reference.is_some()
                    && row.source == Some(name.source);
                if other {
                    Err(RejectReason::ReferenceMismatch)
                } else {
                    Ok(Some(*one))
                }
            }
            (Some(_), [one], also) if also.contains(one) => Ok(Some(*one)),
            (Some(_), _, [_, ..]) => Err(RejectReason::ReferenceMismatch),
        }
    }

    /// Takes over the provider's reference from an event that names the job by our id.
    pub(super) fn bind(&mut self, at: usize, name: &Name) {
        let row = &mut self.rows[at];
        let Some(reference) = name.reference.as_ref().filter(|_| row.reference.is_none()) else {
            return;
        };
        row.source = Some(name.source);
        row.reference = Some(reference.clone());
        row.job.dispatched = true;
        self.by_reference
            .entry((name.source, reference.clone()))
            .or_default()
            .push(at);
        self.changed.insert(at);
    }
}
