//! Freezes as they are read, and what they hold back.

use chrono::{DateTime, Utc};
use domain::{
    freeze::Rule,
    id::{ActionId, SourceId, TenantId, WalletId},
    money::{Amount, Currency},
};
use sqlx::PgConnection;

use super::Of;
use crate::error::StoreError;

/// Most freezes a list shows.
const MOST: i64 = 200;
/// Where counting what waits stops.
pub const MOST_COUNTED: i64 = 10_000;

/// Who froze, as others read it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FrozenBy {
    /// A person.
    Person {
        /// Their name.
        name: String,
        /// The action.
        action: ActionId,
    },
    /// A rule.
    Rule {
        /// Version of the rule.
        version: i32,
        /// The run that found more than it allows.
        run: i64,
    },
}

/// A freeze in force.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Freeze {
    /// Of what.
    pub of: Of,
    /// Its name.
    pub name: String,
    /// Name of a source in its URL.
    pub slug: Option<String>,
    /// Mode of a source; a tenant has both.
    pub livemode: Option<bool>,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Why.
    pub reason: String,
    /// By whom.
    pub by: FrozenBy,
}

/// The freezes of tenants and sources in force, oldest first; of one when it is given.
///
/// # Errors
/// [`StoreError`].
pub async fn in_force(conn: &mut PgConnection, one: Option<Of>) -> Result<Vec<Freeze>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT f.tenant_id, f.source_id, coalesce(t.name, s.name) AS "name!", s.slug AS "slug?",
                  s.livemode AS "livemode?", f.frozen_at, f.reason, f.frozen_by, o.name AS "person?",
                  f.rule_version, f.run_id
           FROM freezes f
           LEFT JOIN tenants t ON t.tenant_id = f.tenant_id
           LEFT JOIN sources s ON s.source_id = f.source_id
           LEFT JOIN actions a ON a.tenant_id = f.action_tenant AND a.action_id = f.frozen_by
           LEFT JOIN operators o ON o.operator_id = a.requested_by
           WHERE f.lifted_at IS NULL AND (NOT $1::bool OR f.tenant_id = $2 OR f.source_id = $3)
           ORDER BY f.freeze_id LIMIT $4"#,
        one.is_some(),
        one.and_then(Of::tenant).map(|tenant| tenant.0),
        one.and_then(Of::source).map(|source| source.0),
        MOST,
    )
    .fetch_all(conn)
    .await?;
    let broken = |column| StoreError::inconsistent("freezes", column, "a freeze names its maker");
    rows.into_iter()
        .map(|row| {
            let of = match (row.tenant_id, row.source_id) {
                (Some(tenant), None) => Of::Tenant(TenantId(tenant)),
                (None, Some(source)) => Of::Source(SourceId(source)),
                _ => return Err(broken("tenant_id")),
            };
            let by = match (row.frozen_by, row.person, row.rule_version, row.run_id) {
                (Some(action), Some(name), ..) => FrozenBy::Person {
                    name,
                    action: ActionId(action),
                },
                (None, _, Some(version), Some(run)) => FrozenBy::Rule { version, run },
                _ => return Err(broken("frozen_by")),
            };
            Ok(Freeze {
                of,
                name: row.name,
                slug: row.slug,
                livemode: row.livemode,
                since: row.frozen_at,
                reason: row.reason,
                by,
            })
        })
        .collect()
}

/// The freeze of a tenant or a source, if it is in force.
///
/// # Errors
/// [`StoreError`].
pub async fn find(conn: &mut PgConnection, of: Of) -> Result<Option<Freeze>, StoreError> {
    Ok(in_force(conn, Some(of)).await?.pop())
}

/// Money on hold for jobs whose events wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OnHold {
    /// For whom.
    pub tenant: String,
    /// Mode.
    pub livemode: bool,
    /// How much.
    pub amount: Amount,
}

/// What a freeze holds back. Counts stop at [`MOST_COUNTED`] events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeldBack {
    /// Events that wait.
    pub events: i64,
    /// Jobs they are about.
    pub jobs: i64,
    /// Since when the oldest of them waits.
    pub oldest: Option<DateTime<Utc>>,
    /// What is on hold for those jobs, by tenant, mode and currency.
    pub on_hold: Vec<OnHold>,
}

/// What the freeze of a tenant or a source holds back.
///
/// # Errors
/// [`StoreError`].
pub async fn held_back(conn: &mut PgConnection, of: Of) -> Result<HeldBack, StoreError> {
    let (tenant, source) = (
        of.tenant().map(|tenant| tenant.0),
        of.source().map(|source| source.0),
    );
    let waits = sqlx::query!(
        r#"SELECT count(*) AS "events!", count(DISTINCT job_id) AS "jobs!", min(received_at) AS oldest
           FROM (SELECT job_id, received_at FROM events
                 WHERE state = 'waiting' AND (reason = 'tenant_frozen' AND tenant_id = $1
                                              OR reason = 'source_frozen' AND source_id = $2)
                 ORDER BY event_id LIMIT $3) AS waiting"#,
        tenant,
        source,
        MOST_COUNTED,
    )
    .fetch_one(&mut *conn)
    .await?;
    let rows = sqlx::query!(
        r#"SELECT t.name, j.livemode, j.currency, sum(j.held) AS "held!"
           FROM (SELECT DISTINCT tenant_id, job_id
                 FROM (SELECT tenant_id, job_id FROM events
                       WHERE state = 'waiting' AND (reason = 'tenant_frozen' AND tenant_id = $1
                                                    OR reason = 'source_frozen' AND source_id = $2)
                       ORDER BY event_id LIMIT $3) AS waiting) AS about
           JOIN jobs j USING (tenant_id, job_id) JOIN tenants t USING (tenant_id)
           WHERE j.held > 0
           GROUP BY t.tenant_id, t.name, j.livemode, j.currency
           ORDER BY t.name, t.tenant_id, j.livemode DESC, j.currency"#,
        tenant,
        source,
        MOST_COUNTED,
    )
    .fetch_all(conn)
    .await?;
    let on_hold = rows.into_iter().map(|row| {
        let currency: Currency = (row.currency.parse())
            .map_err(|error| StoreError::inconsistent("jobs", "currency", error))?;
        let amount = Amount::exact(row.held, currency)
            .map_err(|error| StoreError::inconsistent("jobs", "held", error))?;
        Ok(OnHold {
            tenant: row.name,
            livemode: row.livemode,
            amount,
        })
    });
    Ok(HeldBack {
        events: waits.events,
        jobs: waits.jobs,
        oldest: waits.oldest,
        on_hold: on_hold.collect::<Result<_, StoreError>>()?,
    })
}

/// A wallet that is frozen by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrozenWallet {
    /// The wallet.
    pub wallet: WalletId,
    /// Its name.
    pub name: String,
    /// Its tenant's.
    pub tenant: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Why.
    pub reason: String,
}

/// The frozen wallets of a mode, newest first.
///
/// # Errors
/// [`StoreError`].
pub async fn wallets(
    conn: &mut PgConnection,
    livemode: bool,
) -> Result<Vec<FrozenWallet>, StoreError> {
    let rows = sqlx::query!(
        r#"SELECT w.wallet_id, w.name, t.name AS tenant, w.frozen_at AS "since!", w.frozen_reason AS "reason!"
           FROM wallets w JOIN tenants t USING (tenant_id)
           WHERE w.frozen_at IS NOT NULL AND w.livemode = $1
           ORDER BY w.frozen_at DESC, w.wallet_id LIMIT $2"#,
        livemode,
        MOST,
    )
    .fetch_all(conn)
    .await?;
    let read = rows.into_iter().map(|row| FrozenWallet {
        wallet: WalletId(row.wallet_id),
        name: row.name,
        tenant: row.tenant,
        since: row.since,
        reason: row.reason,
    });
    Ok(read.collect())
}

/// How much is frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Tenants.
    pub tenants: i64,
    /// Sources of a mode.
    pub sources: i64,
    /// Wallets of a mode.
    pub wallets: i64,
    /// Since when the first of them is.
    pub oldest: Option<DateTime<Utc>>,
}

impl Counts {
    /// All of it.
    pub fn total(self) -> i64 {
        self.tenants + self.sources + self.wallets
    }
}

/// Counts what is frozen in a mode; a tenant has both modes.
///
/// # Errors
/// [`StoreError`].
pub async fn counts(conn: &mut PgConnection, livemode: bool) -> Result<Counts, StoreError> {
    let counts = sqlx::query_as!(
        Counts,
        r#"WITH frozen AS (
               SELECT 'tenant' AS what, frozen_at FROM freezes WHERE lifted_at IS NULL AND tenant_id IS NOT NULL
               UNION ALL SELECT 'source', f.frozen_at FROM freezes f JOIN sources s USING (source_id)
                         WHERE f.lifted_at IS NULL AND s.livemode = $1
               UNION ALL SELECT 'wallet', frozen_at FROM wallets WHERE frozen_at IS NOT NULL AND livemode = $1)
           SELECT count(*) FILTER (WHERE what = 'tenant') AS "tenants!", count(*) FILTER (WHERE what = 'source') AS "sources!",
                  count(*) FILTER (WHERE what = 'wallet') AS "wallets!", min(frozen_at) AS oldest
           FROM frozen"#,
        livemode,
    )
    .fetch_one(conn)
    .await?;
    Ok(counts)
}

/// The rule in force, if one is set.
///
/// # Errors
/// [`StoreError`].
pub async fn rule(conn: &mut PgConnection) -> Result<Option<Rule>, StoreError> {
    let newest =
        sqlx::query!("SELECT version, above FROM freeze_rules ORDER BY version DESC LIMIT 1")
            .fetch_optional(conn)
            .await?;
    Ok(newest.and_then(|row| {
        let version = row.version;
        row.above.map(|above| Rule { version, above })
    }))
}

/// A tenant or a source, as forms name it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// Mode of a source; a tenant has both.
    pub livemode: Option<bool>,
}

/// What a tenant or a source is called, if it exists.
///
/// # Errors
/// [`StoreError`].
pub async fn named(conn: &mut PgConnection, of: Of) -> Result<Option<Named>, StoreError> {
    let row = sqlx::query_as!(
        Named,
        r#"SELECT name AS "name!", NULL::boolean AS livemode FROM tenants WHERE tenant_id = $1
           UNION ALL SELECT name, livemode FROM sources WHERE source_id = $2"#,
        of.tenant().map(|tenant| tenant.0),
        of.source().map(|source| source.0),
    )
    .fetch_optional(conn)
    .await?;
    Ok(row)
}

/// The source with this name in its URL.
///
/// # Errors
/// [`StoreError`].
pub async fn source(conn: &mut PgConnection, slug: &str) -> Result<Option<SourceId>, StoreError> {
    let id = sqlx::query_scalar!("SELECT source_id FROM sources WHERE slug = $1", slug)
        .fetch_optional(conn)
        .await?;
    Ok(id.map(SourceId))
}
