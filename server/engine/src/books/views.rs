//! SQL of the checks. Each query returns one line for each break and nothing when all is well.

use domain::{
    canonical::Hash,
    id::{JobId, LotId, TenantId},
    money::Amount,
    settlement::{Effect, Entry, SettlementKey, Subject},
};
use futures::{Stream, StreamExt, TryStreamExt};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Break, Examined, MOST_BREAKS, Report};
use crate::error::StoreError;

pub(super) async fn examined(conn: &mut PgConnection) -> Result<Examined, StoreError> {
    let examined = sqlx::query_as!(
        Examined,
        r#"SELECT (SELECT count(*) FROM jobs) AS "jobs!", (SELECT count(*) FROM settlements) AS "settlements!",
                  (SELECT count(*) FROM transfers) AS "transfers!", (SELECT count(*) FROM accounts) AS "accounts!",
                  (SELECT count(*) FROM lots) AS "lots!""#
    )
    .fetch_one(conn)
    .await?;
    Ok(examined)
}

async fn collect(
    check: &'static str,
    report: &mut Report,
    mut lines: impl Stream<Item = Result<Option<String>, sqlx::Error>> + Unpin,
) -> Result<(), StoreError> {
    report.checks.push(check);
    let mut found = 0;
    while let Some(line) = lines.try_next().await? {
        found += 1;
        if found > MOST_BREAKS {
            report.breaks.push(Break {
                check,
                line: format!("more than {MOST_BREAKS} breaks; the rest is not listed"),
            });
            break;
        }
        report.breaks.push(Break {
            check,
            line: line.unwrap_or_default(),
        });
    }
    Ok(())
}

/// Runs the checks one after the other; each is a query whose rows are breaks.
macro_rules! checks {
    ($conn:ident, $report:ident, $($name:literal: $sql:literal)*) => {
        $(collect($name, $report, sqlx::query_scalar!($sql).fetch(&mut *$conn)).await?;)*
    };
}

/// Every check that SQL can do.
pub(super) async fn run_checks(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    accounts(conn, report).await?;
    settlements(conn, report).await?;
    jobs(conn, report).await?;
    lots(conn, report).await
}

async fn accounts(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    "balance_is_the_sum_of_its_transfers":
        "WITH moved AS (
             SELECT tenant_id, account_id, sum(change) AS total, count(*) AS transfers FROM (
                 SELECT tenant_id, debit_account_id AS account_id, -amount AS change FROM transfers
                 UNION ALL SELECT tenant_id, credit_account_id, amount FROM transfers) AS sides
             GROUP BY 1, 2)
         SELECT format('account %s (%s): the balance is %s after %s transfers, but %s transfers sum up to %s',
                    a.account_id, a.kind, b.balance, b.version, coalesce(m.transfers, 0), coalesce(m.total, 0))
         FROM accounts a LEFT JOIN balances b USING (tenant_id, account_id) LEFT JOIN moved m USING (tenant_id, account_id)
         WHERE b.balance IS DISTINCT FROM coalesce(m.total, 0) OR b.version IS DISTINCT FROM coalesce(m.transfers, 0)"
    "trial_balance_is_zero":
        "SELECT format('tenant %s, %s, %s: the balances of all accounts sum up to %s instead of 0', a.tenant_id, a.currency,
                    CASE WHEN a.livemode THEN 'live' ELSE 'test' END, sum(b.balance))
         FROM accounts a JOIN balances b USING (tenant_id, account_id)
         GROUP BY a.tenant_id, a.currency, a.livemode HAVING sum(b.balance) <> 0"
    "transfers_stay_within_a_mode_and_wallet":
        "SELECT format('transfer %s of settlement %s: its accounts are not of the mode and wallet of the settlement',
                    t.posting_id, t.settlement_id)
         FROM transfers t JOIN settlements s USING (tenant_id, settlement_id)
         JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
         JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
         WHERE d.livemode <> s.livemode OR c.livemode <> s.livemode OR t.currency <> s.currency
            OR coalesce(d.wallet_id, s.wallet_id) <> s.wallet_id OR coalesce(c.wallet_id, s.wallet_id) <> s.wallet_id"
    "running_balances_form_a_chain":
        "WITH sides AS (
             SELECT t.tenant_id, t.debit_account_id AS account_id, t.posting_id, -t.amount AS change, t.debit_balance AS after
             FROM transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.debit_account_id
             WHERE a.wallet_id IS NOT NULL
             UNION ALL
             SELECT t.tenant_id, t.credit_account_id, t.posting_id, t.amount, t.credit_balance
             FROM transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.credit_account_id
             WHERE a.wallet_id IS NOT NULL),
         chain AS (
             SELECT *, lag(after, 1, 0) OVER (PARTITION BY tenant_id, account_id ORDER BY posting_id) AS before FROM sides)
         SELECT format('account %s: transfer %s changes it by %s from %s, yet records a balance of %s',
                    account_id, posting_id, change, before, coalesce(after::text, 'nothing'))
         FROM chain WHERE after IS DISTINCT FROM before + change"
    }
    Ok(())
}

async fn settlements(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    "versions_have_no_gaps":
        "SELECT format('%s %s, %s: %s settlements, versions %s to %s', subject_kind, subject_id, phase, count(*),
                    min(version), max(version))
         FROM settlements GROUP BY tenant_id, subject_kind, subject_id, phase
         HAVING min(version) <> 1 OR max(version) <> count(*)"
    "an_amount_has_transfers":
        "SELECT format('settlement %s (%s %s, %s/%s): %s and no transfer', s.settlement_id, s.subject_kind, s.subject_id,
                    s.phase, s.version, s.amount)
         FROM settlements s WHERE s.amount > 0 AND NOT EXISTS (
             SELECT 1 FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id)"
    "a_settlement_has_its_event":
        "SELECT format('settlement %s: event %s that caused it is %s for %s', s.settlement_id, s.event_id, e.state,
                    coalesce(e.job_id::text, 'no job'))
         FROM settlements s JOIN events e ON e.event_id = s.event_id AND e.livemode = s.livemode
         WHERE e.state NOT IN ('applied', 'ignored') OR e.job_id IS DISTINCT FROM s.job_id"
    "a_grant_is_its_lot":
        "SELECT format('lot %s: %s granted, but its grant settlement says %s', l.lot_id, l.amount,
                    coalesce(s.amount::text, 'nothing'))
         FROM lots l LEFT JOIN settlements s ON s.tenant_id = l.tenant_id AND s.subject_kind = 'lot'
             AND s.subject_id = l.lot_id AND s.phase = 'grant'
         WHERE s.amount IS DISTINCT FROM l.amount"
    }
    Ok(())
}

async fn jobs(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    "a_hold_ends_once":
        "SELECT format('job %s is %s with %s reserves, %s captures and %s releases', j.job_id, j.state,
                    s.reserves, s.captures, s.releases)
         FROM jobs j CROSS JOIN LATERAL (
             SELECT count(*) FILTER (WHERE phase = 'reserve') AS reserves,
                    count(*) FILTER (WHERE phase = 'capture') AS captures,
                    count(*) FILTER (WHERE phase = 'release') AS releases
             FROM settlements s WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) s
         WHERE s.captures > s.reserves OR s.captures > 1
            OR s.captures + s.releases + CASE WHEN j.state IN ('pending', 'running') THEN 1 ELSE 0 END <> s.reserves"
    "a_job_knows_its_settlements":
        "SELECT format('job %s: versions %s/%s/%s/%s of reserve, capture, release and adjustment, but %s/%s/%s/%s are written',
                    j.job_id, j.reserve_version, j.capture_version, j.release_version, j.adjustment_version,
                    s.reserve, s.capture, s.release, s.adjustment)
         FROM jobs j CROSS JOIN LATERAL (
             SELECT coalesce(max(version) FILTER (WHERE phase = 'reserve'), 0) AS reserve,
                    coalesce(max(version) FILTER (WHERE phase = 'capture'), 0) AS capture,
                    coalesce(max(version) FILTER (WHERE phase = 'release'), 0) AS release,
                    coalesce(max(version) FILTER (WHERE phase = 'adjustment'), 0) AS adjustment
             FROM settlements s WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) s
         WHERE (j.reserve_version, j.capture_version, j.release_version, j.adjustment_version)
            <> (s.reserve, s.capture, s.release, s.adjustment)"
    "a_job_is_what_its_transfers_moved":
        "WITH moved AS (
             SELECT s.tenant_id, s.subject_id AS job_id,
                    sum(CASE 'held' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END) AS held,
                    sum(CASE 'revenue' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END) AS captured,
                    sum(CASE 'receivable' WHEN d.kind THEN t.amount WHEN c.kind THEN -t.amount ELSE 0 END) AS receivable
             FROM settlements s JOIN transfers t USING (tenant_id, settlement_id)
             JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
             JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
             WHERE s.subject_kind = 'job' GROUP BY 1, 2)
         SELECT format('job %s: held %s, captured %s, owed %s, but its transfers moved %s, %s, %s', j.job_id, j.held,
                    j.captured, j.receivable, coalesce(m.held, 0), coalesce(m.captured, 0), coalesce(m.receivable, 0))
         FROM jobs j LEFT JOIN moved m USING (tenant_id, job_id)
         WHERE (j.held, j.captured, j.receivable)
            IS DISTINCT FROM (coalesce(m.held, 0), coalesce(m.captured, 0), coalesce(m.receivable, 0))"
    "a_finished_job_holds_nothing":
        "SELECT format('job %s is %s and still holds %s', job_id, state, held)
         FROM jobs WHERE held <> 0 AND state NOT IN ('pending', 'running')"
    "held_is_the_sum_of_the_jobs":
        "WITH jobs_held AS (SELECT tenant_id, wallet_id, sum(held) AS held FROM jobs GROUP BY 1, 2)
         SELECT format('wallet %s: its held account has %s, its jobs hold %s', a.wallet_id, b.balance, coalesce(j.held, 0))
         FROM accounts a JOIN balances b USING (tenant_id, account_id) LEFT JOIN jobs_held j USING (tenant_id, wallet_id)
         WHERE a.kind = 'held' AND b.balance <> coalesce(j.held, 0)"
    "a_job_took_its_steps":
        "SELECT format('job %s is %s after %s steps, but %s steps are written, the last to %s', j.job_id, j.state,
                    j.transition_count, s.steps, coalesce(s.last_state, 'nowhere'))
         FROM jobs j CROSS JOIN LATERAL (
             SELECT count(*) AS steps, max(number) AS last, (array_agg(to_state ORDER BY number DESC))[1] AS last_state
             FROM job_transitions t WHERE t.tenant_id = j.tenant_id AND t.job_id = j.job_id) s
         WHERE s.steps <> j.transition_count OR coalesce(s.last, 0) <> j.transition_count OR s.last_state IS DISTINCT FROM j.state"
    }
    Ok(())
}

async fn lots(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    "a_lot_is_what_its_draws_left":
        "WITH moved AS (
             SELECT tenant_id, lot_id, sum(CASE direction WHEN 'draw' THEN -amount ELSE amount END) AS change
             FROM lot_draws GROUP BY 1, 2)
         SELECT format('lot %s: %s of %s remain, but its draws leave %s', l.lot_id, l.remaining, l.amount,
                    l.amount + coalesce(m.change, 0))
         FROM lots l LEFT JOIN moved m USING (tenant_id, lot_id) WHERE l.remaining <> l.amount + coalesce(m.change, 0)"
    "available_is_the_sum_of_the_lots":
        "WITH lots_left AS (SELECT tenant_id, wallet_id, sum(remaining) AS remaining FROM lots GROUP BY 1, 2)
         SELECT format('wallet %s: its available account has %s, its lots %s', a.wallet_id, b.balance,
                    coalesce(l.remaining, 0))
         FROM accounts a JOIN balances b USING (tenant_id, account_id) LEFT JOIN lots_left l USING (tenant_id, wallet_id)
         WHERE a.kind = 'available' AND b.balance <> coalesce(l.remaining, 0)"
    }
    Ok(())
}

struct ContentRow {
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

/// Every settlement as it was hashed, with its recorded hash.
pub(super) fn contents(
    conn: &mut PgConnection,
) -> impl Stream<Item = Result<(SettlementKey, Effect, Hash), StoreError>> + Unpin + '_ {
    sqlx::query_as!(
        ContentRow,
        r#"SELECT s.tenant_id, s.subject_kind, s.subject_id, s.phase, s.version, s.currency, s.amount, s.snapshot,
                  s.content_hash, t.entry_types, t.amounts AS "amounts: Vec<Decimal>"
           FROM settlements s CROSS JOIN LATERAL (
               SELECT array_agg(entry_type ORDER BY posting_id) AS entry_types, array_agg(amount ORDER BY posting_id) AS amounts
               FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id) t"#
    )
    .fetch(conn)
    .map(|row| content(row?))
}

fn content(row: ContentRow) -> Result<(SettlementKey, Effect, Hash), StoreError> {
    let currency = row
        .currency
        .parse()
        .map_err(|error| StoreError::inconsistent("settlements", "currency", error))?;
    let amount = |value| {
        Amount::exact(value, currency)
            .map_err(|error| StoreError::inconsistent("transfers", "amount", error))
    };
    let subject = match row.subject_kind.as_str() {
        "lot" => Subject::Lot(LotId(row.subject_id)),
        _ => Subject::Job(JobId(row.subject_id)),
    };
    let phase = row
        .phase
        .parse()
        .map_err(|error| StoreError::inconsistent("settlements", "phase", error))?;
    let key = SettlementKey {
        tenant: TenantId(row.tenant_id),
        subject,
        phase,
        version: row.version,
    };
    let types = row.entry_types.unwrap_or_default();
    let amounts = row.amounts.unwrap_or_default();
    let entries = types.iter().zip(amounts).map(|(word, value)| {
        let entry_type = word
            .parse()
            .map_err(|error| StoreError::inconsistent("transfers", "entry_type", error))?;
        Ok(Entry {
            entry_type,
            amount: amount(value)?,
        })
    });
    let effect = Effect {
        phase,
        version: row.version,
        amount: amount(row.amount)?,
        entries: entries.collect::<Result<_, StoreError>>()?,
        snapshot: row.snapshot,
    };
    let hash = Hash::try_from(row.content_hash).map_err(|bytes| {
        StoreError::inconsistent("settlements", "content_hash", hex::encode(bytes))
    })?;
    Ok((key, effect, hash))
}
