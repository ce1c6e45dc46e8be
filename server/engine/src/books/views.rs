//! SQL of verifying: what is examined, what was hashed, and the checks.

mod checks;

use domain::{
    canonical::Hash,
    id::{JobId, LotId, TenantId},
    money::Amount,
    settlement::{Effect, Entry, SettlementKey, Subject},
};
use futures::stream::BoxStream;
use rust_decimal::Decimal;
use sqlx::{Executor as _, PgConnection};
use uuid::Uuid;

pub(super) use self::checks::{check_balances, run_checks, stuck_events};
use super::Examined;
use crate::error::StoreError;

/// Makes the checks of a transaction plan for what they look at, with room to sort. Keys lead with the tenant,
/// and a planner that takes a page of an index for dear reads all of a tenant instead. Where everything is
/// looked at, tables are joined whole, not row by row.
pub(super) async fn prepare(conn: &mut PgConnection, since: Option<i64>) -> Result<(), StoreError> {
    sqlx::raw_sql(
        "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '64MB'; SET LOCAL jit = off;
         SET LOCAL random_page_cost = 1.1",
    )
    .execute(&mut *conn)
    .await?;
    if since.is_none() {
        sqlx::raw_sql("SET LOCAL enable_nestloop = off")
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Gives what a transaction sees to another.
pub(super) async fn export(conn: &mut PgConnection) -> Result<String, StoreError> {
    let snapshot = sqlx::query_scalar!(r#"SELECT pg_export_snapshot() AS "snapshot!""#)
        .fetch_one(conn)
        .await?;
    Ok(snapshot)
}

/// Makes a transaction that has not read anything see what another sees.
pub(super) async fn import(conn: &mut PgConnection, snapshot: &str) -> Result<(), StoreError> {
    let mut set = sqlx::QueryBuilder::<sqlx::Postgres>::new("SET TRANSACTION SNAPSHOT '");
    set.push(snapshot.replace('\'', "")).push("'");
    conn.execute(set.build().persistent(false)).await?;
    Ok(())
}

/// The oldest transaction that still runs, or the next one. What earlier ones wrote is all in the snapshot.
pub(super) async fn horizon(conn: &mut PgConnection) -> Result<i64, StoreError> {
    let horizon = sqlx::query_scalar!(
        r#"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "horizon!""#
    )
    .fetch_one(conn)
    .await?;
    Ok(horizon)
}

/// Counts what is looked at: everything, or what was written since.
pub(super) async fn examined(
    conn: &mut PgConnection,
    since: Option<i64>,
) -> Result<Examined, StoreError> {
    let examined = match since {
        None => {
            sqlx::query_as!(
                Examined,
                r#"SELECT (SELECT count(*) FROM jobs) AS "jobs!", (SELECT count(*) FROM settlements) AS "settlements!",
                          (SELECT count(*) FROM transfers) AS "transfers!", (SELECT count(*) FROM accounts) AS "accounts!",
                          (SELECT count(*) FROM lots) AS "lots!""#
            )
            .fetch_one(conn)
            .await?
        }
        Some(since) => {
            sqlx::query_as!(
                Examined,
                r#"WITH fresh AS MATERIALIZED (
                       SELECT tenant_id, settlement_id, job_id, wallet_id FROM settlements WHERE written_in >= $1)
                   SELECT (SELECT count(DISTINCT job_id) FROM fresh) AS "jobs!", (SELECT count(*) FROM fresh) AS "settlements!",
                          (SELECT coalesce(sum(n), 0)::bigint FROM fresh CROSS JOIN LATERAL (
                              SELECT count(*) AS n FROM transfers t
                              WHERE t.tenant_id = fresh.tenant_id AND t.settlement_id = fresh.settlement_id) t) AS "transfers!",
                          (SELECT count(*) FROM accounts WHERE wallet_id IS NULL OR (tenant_id, wallet_id) IN (
                              SELECT tenant_id, wallet_id FROM fresh)) AS "accounts!",
                          (SELECT count(DISTINCT lot_id) FROM fresh CROSS JOIN LATERAL (
                              SELECT lot_id FROM lot_draws d
                              WHERE d.tenant_id = fresh.tenant_id AND d.settlement_id = fresh.settlement_id OFFSET 0) d) AS "lots!""#,
                since,
            )
            .fetch_one(conn)
            .await?
        }
    };
    Ok(examined)
}

/// A settlement as it is stored, with its transfers.
pub(super) struct ContentRow {
    tenant_id: Uuid,
    subject_kind: String,
    subject_id: Uuid,
    phase: String,
    version: i32,
    currency: String,
    amount: Decimal,
    snapshot: serde_json::Value,
    content_hash: Vec<u8>,
    entry_types: Option<Vec<String>>,
    amounts: Option<Vec<Decimal>>,
}

/// Every settlement, or every one written since, one after the other.
pub(super) fn contents(
    conn: &mut PgConnection,
    since: Option<i64>,
) -> BoxStream<'_, Result<ContentRow, sqlx::Error>> {
    match since {
        // Both tables in the order of their keys.
        None => sqlx::query_as!(
            ContentRow,
            r#"SELECT tenant_id AS "tenant_id!", s.subject_kind AS "subject_kind!", s.subject_id AS "subject_id!", s.phase AS "phase!",
                      s.version AS "version!", s.currency AS "currency!", s.amount AS "amount!", s.snapshot AS "snapshot!",
                      s.content_hash AS "content_hash!", t.entry_types, t.amounts AS "amounts: Vec<Decimal>"
               FROM settlements s LEFT JOIN (
                   SELECT tenant_id, settlement_id, array_agg(entry_type ORDER BY posting_id) AS entry_types,
                          array_agg(amount ORDER BY posting_id) AS amounts
                   FROM transfers GROUP BY 1, 2) t USING (tenant_id, settlement_id)"#,
        )
        .fetch(conn),
        Some(since) => sqlx::query_as!(
            ContentRow,
            r#"SELECT s.tenant_id, s.subject_kind, s.subject_id, s.phase, s.version, s.currency, s.amount, s.snapshot,
                      s.content_hash, t.entry_types, t.amounts AS "amounts: Vec<Decimal>"
               FROM settlements s CROSS JOIN LATERAL (
                   SELECT array_agg(entry_type ORDER BY posting_id) AS entry_types,
                          array_agg(amount ORDER BY posting_id) AS amounts
                   FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id) t
               WHERE s.written_in >= $1"#,
            since,
        )
        .fetch(conn),
    }
}

impl ContentRow {
    pub(super) fn tenant(&self) -> TenantId {
        TenantId(self.tenant_id)
    }

    /// The settlement's key, as it is written even where it cannot be read.
    pub(super) fn name(&self) -> String {
        let (tenant, subject) = (self.tenant_id.simple(), self.subject_id.simple());
        let (kind, phase, version) = (&self.subject_kind, &self.phase, self.version);
        format!("tenant_{tenant}/{kind}_{subject}/{phase}/{version}")
    }

    /// What is wrong with it, if anything: its content has another hash, or cannot be read at all.
    pub(super) fn fault(&self) -> Option<String> {
        let name = self.name();
        match self.hashes() {
            Ok((computed, recorded)) if computed == recorded => None,
            Ok((_, recorded)) => Some(format!(
                "{name}: its content does not have the hash {recorded} it was written with"
            )),
            Err(error) => Some(format!("{name}: its content cannot be read: {error}")),
        }
    }

    /// The hash of what is stored, and the hash it was written with.
    fn hashes(&self) -> Result<(Hash, Hash), Unreadable> {
        let currency = self.currency.parse()?;
        let subject = match self.subject_kind.as_str() {
            "lot" => Subject::Lot(LotId(self.subject_id)),
            _ => Subject::Job(JobId(self.subject_id)),
        };
        let phase = self.phase.parse()?;
        let key = SettlementKey {
            tenant: self.tenant(),
            subject,
            phase,
            version: self.version,
        };
        let types = self.entry_types.iter().flatten();
        let entries = types
            .zip(self.amounts.iter().flatten())
            .map(|(word, value)| {
                Ok(Entry {
                    entry_type: word.parse()?,
                    amount: Amount::exact(*value, currency)?,
                })
            });
        let effect = Effect {
            phase,
            version: self.version,
            amount: Amount::exact(self.amount, currency)?,
            entries: entries.collect::<Result<_, Unreadable>>()?,
            snapshot: self.snapshot.clone(),
        };
        let recorded = Hash::try_from(self.content_hash.clone())
            .map_err(|bytes| format!("{} is no hash", hex::encode(bytes)))?;
        Ok((effect.content_hash(&key)?, recorded))
    }
}

/// Why a row cannot be read.
type Unreadable = Box<dyn std::error::Error + Send + Sync>;
