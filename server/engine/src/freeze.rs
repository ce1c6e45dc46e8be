//! Freezes of a tenant or of a source: billing stops, and nothing is lost.
//!
//! A frozen tenant gets no new jobs, and the events of its jobs wait. The events of a frozen source are
//! accepted as ever and wait. A lift makes due what waited, in its own transaction; it is settled in the
//! order it was accepted, under its own identity.
//!
//! Invariants: what is frozen is frozen once (`freezes_tenant_once`, `freezes_source_once`); a lift is an
//! approved action (`freezes_lift_is_approved`); nothing is settled or submitted after a freeze has
//! committed that did not commit before it.
//!
//! Locks: whoever settles or submits reads the freezes by [`seen`], which takes the share of the freezes'
//! lock until the transaction ends; whoever freezes or lifts holds that lock alone. Cost: one statement a
//! batch and a submission.

mod store;
pub mod views;

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::{
    action::Target,
    event::WaitReason,
    freeze::Rule,
    id::{ActionId, SourceId, TenantId},
};
use serde_json::json;
use sqlx::PgConnection;

use crate::{
    Engine,
    audit::{self, Record},
    books::Report,
    error::StoreError,
};

/// What can be frozen as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Of {
    /// A tenant: its jobs are refused, the events of its jobs wait.
    Tenant(TenantId),
    /// A source: its events wait.
    Source(SourceId),
}

impl Of {
    /// What a request freezes as a whole; `None` for a wallet.
    pub fn whole(target: Target) -> Option<Self> {
        match target {
            Target::Wallet(_) => None,
            Target::Tenant(tenant) => Some(Self::Tenant(tenant)),
            Target::Source(source) => Some(Self::Source(source)),
        }
    }

    /// What its events wait for.
    pub fn reason(self) -> WaitReason {
        match self {
            Self::Tenant(_) => WaitReason::TenantFrozen,
            Self::Source(_) => WaitReason::SourceFrozen,
        }
    }

    fn tenant(self) -> Option<TenantId> {
        match self {
            Self::Tenant(tenant) => Some(tenant),
            Self::Source(_) => None,
        }
    }

    fn source(self) -> Option<SourceId> {
        match self {
            Self::Tenant(_) => None,
            Self::Source(source) => Some(source),
        }
    }
}

/// Who freezes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    /// An operator, by an action.
    Action(ActionId),
    /// A rule, by what a reconciliation run found.
    Rule {
        /// Version of the rule.
        version: i32,
        /// The run.
        run: i64,
    },
}

/// What is frozen, and what was until lately. It stays true until the transaction ends.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    tenants: HashMap<TenantId, String>,
    sources: HashSet<SourceId>,
    lifted: HashMap<Of, DateTime<Utc>>,
}

impl Seen {
    /// Why a tenant is frozen, if it is.
    pub(crate) fn tenant(&self, tenant: TenantId) -> Option<&str> {
        self.tenants.get(&tenant).map(String::as_str)
    }

    /// Whether a source is frozen.
    pub(crate) fn source(&self, source: SourceId) -> bool {
        self.sources.contains(&source)
    }

    /// When something was last let go on, as far back as was asked for.
    pub(crate) fn lifted(&self, of: Of) -> Option<DateTime<Utc>> {
        self.lifted.get(&of).copied()
    }
}

/// Reads what is frozen, and what was lifted after `since`. Nothing is frozen or lifted from here on until
/// the transaction ends. Called before any job or wallet is locked.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    since: DateTime<Utc>,
) -> Result<Seen, StoreError> {
    store::seen(conn, since).await
}

/// Waits for all settling and submitting that goes on, and keeps the rest waiting until the transaction ends.
///
/// # Errors
/// [`StoreError`].
pub async fn hold(conn: &mut PgConnection) -> Result<(), StoreError> {
    store::hold(conn).await
}

/// Freezes. Returns whether it was not frozen before; a freeze keeps its first reason.
///
/// # Errors
/// [`StoreError`].
pub async fn freeze(
    conn: &mut PgConnection,
    engine: &Engine,
    of: Of,
    reason: &str,
    maker: Maker,
) -> Result<bool, StoreError> {
    hold(conn).await?;
    store::insert(conn, of, reason, maker, engine.clock().now()).await
}

/// Lets it go on, by an action that is approved when the transaction ends. What waited is due again, but for
/// what a worker holds at this moment: that worker waits for us, and reads the lift. Returns how many events
/// were made due; `None` when nothing was frozen.
///
/// # Errors
/// [`StoreError`].
pub async fn lift(
    conn: &mut PgConnection,
    engine: &Engine,
    of: Of,
    action: ActionId,
) -> Result<Option<u64>, StoreError> {
    hold(conn).await?;
    let now = engine.clock().now();
    if !store::lift(conn, of, action, now).await? {
        return Ok(None);
    }
    Ok(Some(store::wake(conn, of, now).await?))
}

/// Freezes the tenants in whose books a run found more wrong than the rule in force allows. Returns how many
/// were not frozen before.
pub(crate) async fn by_rule(
    conn: &mut PgConnection,
    engine: &Engine,
    run: i64,
    report: &Report,
) -> Result<usize, StoreError> {
    let Some(rule) = views::rule(conn).await? else {
        return Ok(0);
    };
    let found = report.breaks.iter().map(|one| (one.tenant, one.check));
    let mut frozen = 0;
    for (tenant, wrong) in rule.exceeded(found) {
        let Rule { version, above } = rule;
        let reason = format!(
            "Run {run} found {wrong} exceptions about money, more than the {above} that rule {version} allows."
        );
        let maker = Maker::Rule { version, run };
        if !freeze(conn, engine, Of::Tenant(tenant), &reason, maker).await? {
            continue;
        }
        frozen += 1;
        let line = Record {
            operator: None,
            actor: "freeze rule",
            request_id: None,
            action: "tenant.freeze",
            object: &tenant.to_string(),
            detail: json!({ "rule": version, "run": format!("run_{run}"), "found": wrong, "above": above }),
            reason: Some(&reason),
        };
        audit::record(conn, engine, &line).await?;
    }
    Ok(frozen)
}

/// Sets how many exceptions about money a tenant may have before a run freezes it; `None` for a rule that
/// freezes nobody. Returns the new version; `None` when that was in force already.
///
/// # Errors
/// [`StoreError`].
pub async fn set_rule(
    conn: &mut PgConnection,
    engine: &Engine,
    above: Option<i32>,
    by: &str,
) -> Result<Option<i32>, StoreError> {
    if views::rule(conn).await?.map(|rule| rule.above) == above {
        return Ok(None);
    }
    let version = store::insert_rule(conn, above, by, engine.clock().now()).await?;
    Ok(Some(version))
}
