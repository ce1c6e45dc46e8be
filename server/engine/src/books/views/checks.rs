//! The checks. Each query returns a row for each break, and nothing when all is well: what it is about,
//! the two numbers that should be one, and the whole in a line.

use chrono::{DateTime, Utc};
use domain::{exception::Class, id::TenantId, money::Currency};
use futures::{Stream, TryStreamExt};
use rust_decimal::Decimal;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{
    books::{Break, MOST_BREAKS, Report},
    error::StoreError,
};

/// A break as a query returns it.
struct Row {
    tenant_id: Option<Uuid>,
    subject: Option<String>,
    expected: Option<Decimal>,
    actual: Option<Decimal>,
    currency: Option<String>,
    line: Option<String>,
}

impl Row {
    fn read(self, check: Class) -> Result<Break, StoreError> {
        let currency = self.currency.map(|code| code.parse::<Currency>());
        Ok(Break {
            check,
            tenant: self.tenant_id.map(TenantId),
            subject: self.subject.unwrap_or_default(),
            expected: self.expected,
            actual: self.actual,
            currency: currency
                .transpose()
                .map_err(|error| StoreError::inconsistent("accounts", "currency", error))?,
            line: self.line.unwrap_or_default(),
        })
    }
}

async fn collect(
    check: Class,
    report: &mut Report,
    mut rows: impl Stream<Item = Result<Row, sqlx::Error>> + Unpin,
) -> Result<(), StoreError> {
    report.checks.push(check);
    let mut found = 0;
    while let Some(row) = rows.try_next().await? {
        found += 1;
        if found > MOST_BREAKS {
            report.cut_short.push(check);
            break;
        }
        report.breaks.push(row.read(check)?);
    }
    Ok(())
}

/// Runs the checks one after the other; each is a query whose rows are breaks.
macro_rules! checks {
    ($conn:ident, $report:ident, $($class:ident: $sql:literal)*) => {
        $(collect(Class::$class, $report, sqlx::query_as!(Row, $sql).fetch(&mut *$conn)).await?;)*
    };
}

/// Every check that SQL can do without a clock.
pub(in crate::books) async fn run_checks(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    accounts(conn, report).await?;
    settlements(conn, report).await?;
    prices(conn, report).await?;
    jobs(conn, report).await?;
    job_history(conn, report).await?;
    holds(conn, report).await?;
    lots(conn, report).await
}

async fn accounts(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    Balance:
        "WITH moved AS (
             SELECT tenant_id, account_id, sum(change) AS total, count(*) AS transfers FROM (
                 SELECT tenant_id, debit_account_id AS account_id, -amount AS change FROM transfers
                 UNION ALL SELECT tenant_id, credit_account_id, amount FROM transfers) AS sides
             GROUP BY 1, 2)
         SELECT a.tenant_id, 'acct_' || replace(a.account_id::text, '-', '') AS subject, coalesce(m.total, 0) AS expected,
                b.balance AS actual, a.currency,
                format('account %s (%s): the balance is %s after %s transfers, but %s transfers sum up to %s',
                    a.account_id, a.kind, b.balance, b.version, coalesce(m.transfers, 0), coalesce(m.total, 0)) AS line
         FROM accounts a LEFT JOIN balances b USING (tenant_id, account_id) LEFT JOIN moved m USING (tenant_id, account_id)
         WHERE b.balance IS DISTINCT FROM coalesce(m.total, 0) OR b.version IS DISTINCT FROM coalesce(m.transfers, 0)"
    TrialBalance:
        "SELECT a.tenant_id, 'tenant_' || replace(a.tenant_id::text, '-', '') || ' ' || a.currency
                    || CASE WHEN a.livemode THEN ' live' ELSE ' test' END AS subject,
                0::numeric AS expected, sum(b.balance) AS actual, a.currency,
                format('tenant %s, %s, %s: the balances of all accounts sum up to %s instead of 0', a.tenant_id, a.currency,
                    CASE WHEN a.livemode THEN 'live' ELSE 'test' END, sum(b.balance)) AS line
         FROM accounts a JOIN balances b USING (tenant_id, account_id)
         GROUP BY a.tenant_id, a.currency, a.livemode HAVING sum(b.balance) <> 0"
    ModeAndWallet:
        "SELECT t.tenant_id, 'stl_' || replace(t.settlement_id::text, '-', '') || ' ' || t.entry_type AS subject,
                NULL::numeric AS expected, t.amount AS actual, t.currency,
                format('transfer %s of settlement %s: its accounts are not of the mode and wallet of the settlement',
                    t.posting_id, t.settlement_id) AS line
         FROM transfers t JOIN settlements s USING (tenant_id, settlement_id)
         JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
         JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
         WHERE d.livemode <> s.livemode OR c.livemode <> s.livemode OR t.currency <> s.currency
            OR coalesce(d.wallet_id, s.wallet_id) <> s.wallet_id OR coalesce(c.wallet_id, s.wallet_id) <> s.wallet_id"
    RunningBalances:
        "WITH sides AS (
             SELECT t.tenant_id, t.debit_account_id AS account_id, t.currency, t.posting_id, -t.amount AS change, t.debit_balance AS after
             FROM transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.debit_account_id
             WHERE a.wallet_id IS NOT NULL
             UNION ALL
             SELECT t.tenant_id, t.credit_account_id, t.currency, t.posting_id, t.amount, t.credit_balance
             FROM transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.credit_account_id
             WHERE a.wallet_id IS NOT NULL),
         chain AS (
             SELECT *, lag(after, 1, 0) OVER (PARTITION BY tenant_id, account_id ORDER BY posting_id) AS before FROM sides)
         SELECT tenant_id, 'acct_' || replace(account_id::text, '-', '') || ' ' || posting_id AS subject,
                before + change AS expected, after AS actual, currency,
                format('account %s: transfer %s changes it by %s from %s, yet records a balance of %s',
                    account_id, posting_id, change, before, coalesce(after::text, 'nothing')) AS line
         FROM chain WHERE after IS DISTINCT FROM before + change"
    }
    Ok(())
}

async fn settlements(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    Versions:
        "SELECT tenant_id, subject_kind || '_' || replace(subject_id::text, '-', '') || ' ' || phase AS subject,
                max(version)::numeric AS expected, count(*)::numeric AS actual, NULL::text AS currency,
                format('%s %s, %s: %s settlements, versions %s to %s', subject_kind, subject_id, phase, count(*),
                    min(version), max(version)) AS line
         FROM settlements GROUP BY tenant_id, subject_kind, subject_id, phase
         HAVING min(version) <> 1 OR max(version) <> count(*)"
    Transfers:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') AS subject, s.amount AS expected,
                0::numeric AS actual, s.currency,
                format('settlement %s (%s %s, %s/%s): %s and no transfer', s.settlement_id, s.subject_kind, s.subject_id,
                    s.phase, s.version, s.amount) AS line
         FROM settlements s WHERE s.amount > 0 AND NOT EXISTS (
             SELECT 1 FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id)"
    SettlementEvent:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') AS subject, NULL::numeric AS expected,
                s.amount AS actual, s.currency,
                format('settlement %s: event %s that caused it is %s for %s', s.settlement_id, s.event_id, e.state,
                    coalesce(e.job_id::text, 'no job')) AS line
         FROM settlements s JOIN events e ON e.event_id = s.event_id AND e.livemode = s.livemode
         WHERE e.state NOT IN ('applied', 'ignored') OR e.job_id IS DISTINCT FROM s.job_id"
    Grant:
        "SELECT l.tenant_id, 'lot_' || replace(l.lot_id::text, '-', '') AS subject, l.amount AS expected,
                s.amount AS actual, l.currency,
                format('lot %s: %s granted, but its grant settlement says %s', l.lot_id, l.amount,
                    coalesce(s.amount::text, 'nothing')) AS line
         FROM lots l LEFT JOIN settlements s ON s.tenant_id = l.tenant_id AND s.subject_kind = 'lot'
             AND s.subject_id = l.lot_id AND s.phase = 'grant'
         WHERE s.amount IS DISTINCT FROM l.amount"
    }
    Ok(())
}

async fn prices(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    Price:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') || ' ' || (line->>'meter') AS subject,
                (component->>'price')::numeric AS expected, (line->>'price')::numeric AS actual, s.currency,
                format('settlement %s: %s was rated at %s for %s, but version %s of %s says %s for %s', s.settlement_id,
                    line->>'meter', line->>'price', line->>'per', rating->>'version', rating->>'model',
                    coalesce(component->>'price', 'nothing'), component->>'per') AS line
         FROM (SELECT *, coalesce(snapshot->'rating', snapshot->'quote') AS rating FROM settlements
               WHERE subject_kind = 'job' AND phase IN ('reserve', 'capture', 'adjustment')) s
         JOIN jobs j USING (tenant_id, job_id)
         CROSS JOIN LATERAL jsonb_array_elements(rating->'lines') AS line
         LEFT JOIN price_versions p ON p.model = j.model AND p.currency = j.currency AND p.version = j.price_version
         LEFT JOIN LATERAL (SELECT c AS component FROM jsonb_array_elements(p.terms->'components') AS c
                            WHERE c->>'meter' = line->>'meter') AS priced ON true
         WHERE (component->>'price')::numeric IS DISTINCT FROM (line->>'price')::numeric
            OR (component->>'per')::numeric IS DISTINCT FROM (line->>'per')::numeric
            OR rating->>'version' IS DISTINCT FROM j.price_version::text"
    }
    Ok(())
}

async fn jobs(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    HoldEnd:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, s.reserves::numeric AS expected,
                (s.captures + s.releases)::numeric AS actual, NULL::text AS currency,
                format('job %s is %s with %s reserves, %s captures and %s releases', j.job_id, j.state,
                    s.reserves, s.captures, s.releases) AS line
         FROM jobs j CROSS JOIN LATERAL (
             SELECT count(*) FILTER (WHERE phase = 'reserve') AS reserves,
                    count(*) FILTER (WHERE phase = 'capture') AS captures,
                    count(*) FILTER (WHERE phase = 'release') AS releases
             FROM settlements s WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) s
         WHERE s.captures > s.reserves OR s.captures > 1
            OR s.captures + s.releases + CASE WHEN j.state IN ('pending', 'running') THEN 1 ELSE 0 END <> s.reserves"
    JobVersions:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject,
                (s.reserve + s.capture + s.release + s.adjustment + s.reversal)::numeric AS expected,
                (j.reserve_version + j.capture_version + j.release_version + j.adjustment_version + j.reversal_version)::numeric AS actual,
                NULL::text AS currency,
                format('job %s: versions %s/%s/%s/%s/%s of reserve, capture, release, adjustment and reversal, but %s/%s/%s/%s/%s are written',
                    j.job_id, j.reserve_version, j.capture_version, j.release_version, j.adjustment_version, j.reversal_version,
                    s.reserve, s.capture, s.release, s.adjustment, s.reversal) AS line
         FROM jobs j CROSS JOIN LATERAL (
             SELECT coalesce(max(version) FILTER (WHERE phase = 'reserve'), 0) AS reserve,
                    coalesce(max(version) FILTER (WHERE phase = 'capture'), 0) AS capture,
                    coalesce(max(version) FILTER (WHERE phase = 'release'), 0) AS release,
                    coalesce(max(version) FILTER (WHERE phase = 'adjustment'), 0) AS adjustment,
                    coalesce(max(version) FILTER (WHERE phase = 'reversal'), 0) AS reversal
             FROM settlements s WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) s
         WHERE (j.reserve_version, j.capture_version, j.release_version, j.adjustment_version, j.reversal_version)
            <> (s.reserve, s.capture, s.release, s.adjustment, s.reversal)"
    JobCharge:
        "WITH moved AS (
             SELECT s.tenant_id, s.subject_id AS job_id,
                    sum(CASE 'held' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END) AS held,
                    sum(CASE 'revenue' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END) AS captured,
                    sum(CASE 'receivable' WHEN d.kind THEN t.amount WHEN c.kind THEN -t.amount ELSE 0 END) AS receivable
             FROM settlements s JOIN transfers t USING (tenant_id, settlement_id)
             JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
             JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
             WHERE s.subject_kind = 'job' GROUP BY 1, 2)
         SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject,
                coalesce(m.held, 0) + coalesce(m.captured, 0) AS expected, j.held + j.captured AS actual, j.currency,
                format('job %s: held %s, captured %s, owed %s, but its transfers moved %s, %s, %s', j.job_id, j.held,
                    j.captured, j.receivable, coalesce(m.held, 0), coalesce(m.captured, 0), coalesce(m.receivable, 0)) AS line
         FROM jobs j LEFT JOIN moved m USING (tenant_id, job_id)
         WHERE (j.held, j.captured, j.receivable)
            IS DISTINCT FROM (coalesce(m.held, 0), coalesce(m.captured, 0), coalesce(m.receivable, 0))"
    }
    Ok(())
}

async fn job_history(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    JobSteps:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, j.transition_count::numeric AS expected,
                s.steps::numeric AS actual, NULL::text AS currency,
                format('job %s is %s after %s steps, but %s steps are written, the last to %s', j.job_id, j.state,
                    j.transition_count, s.steps, coalesce(s.last_state, 'nowhere')) AS line
         FROM jobs j CROSS JOIN LATERAL (
             SELECT count(*) AS steps, max(number) AS last, (array_agg(to_state ORDER BY number DESC))[1] AS last_state
             FROM job_transitions t WHERE t.tenant_id = j.tenant_id AND t.job_id = j.job_id) s
         WHERE s.steps <> j.transition_count OR coalesce(s.last, 0) <> j.transition_count OR s.last_state IS DISTINCT FROM j.state"
    JobCorrections:
        "WITH noted AS (
             SELECT tenant_id, job_id, sum(net) AS net,
                    (array_agg(reversed ORDER BY settlement_id DESC) FILTER (WHERE reversed IS NOT NULL))[1] AS reversed
             FROM job_corrections GROUP BY 1, 2)
         SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, coalesce(n.net, 0) AS expected,
                j.correction AS actual, j.currency,
                format('job %s: corrected by %s%s, but %s%s is noted', j.job_id, j.correction,
                    CASE WHEN j.reversed THEN ', reversed' ELSE '' END, coalesce(n.net, 0),
                    CASE WHEN n.reversed THEN ', reversed' ELSE '' END) AS line
         FROM jobs j LEFT JOIN noted n USING (tenant_id, job_id)
         WHERE j.correction <> coalesce(n.net, 0) OR j.reversed <> coalesce(n.reversed, false)"
    }
    Ok(())
}

async fn holds(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    JobHold:
        "SELECT tenant_id, 'job_' || replace(job_id::text, '-', '') AS subject, 0::numeric AS expected, held AS actual, currency,
                format('job %s is %s and still holds %s', job_id, state, held) AS line
         FROM jobs WHERE held <> 0 AND state NOT IN ('pending', 'running')"
    Holds:
        "WITH jobs_held AS (SELECT tenant_id, wallet_id, sum(held) AS held FROM jobs GROUP BY 1, 2)
         SELECT a.tenant_id, 'wallet_' || replace(a.wallet_id::text, '-', '') AS subject, coalesce(j.held, 0) AS expected,
                b.balance AS actual, a.currency,
                format('wallet %s: its held account has %s, its jobs hold %s', a.wallet_id, b.balance, coalesce(j.held, 0)) AS line
         FROM accounts a JOIN balances b USING (tenant_id, account_id) LEFT JOIN jobs_held j USING (tenant_id, wallet_id)
         WHERE a.kind = 'held' AND b.balance <> coalesce(j.held, 0)"
    }
    Ok(())
}

async fn lots(conn: &mut PgConnection, report: &mut Report) -> Result<(), StoreError> {
    checks! { conn, report,
    LotDraws:
        "WITH moved AS (
             SELECT tenant_id, lot_id, sum(CASE direction WHEN 'draw' THEN -amount ELSE amount END) AS change
             FROM lot_draws GROUP BY 1, 2)
         SELECT l.tenant_id, 'lot_' || replace(l.lot_id::text, '-', '') AS subject, l.amount + coalesce(m.change, 0) AS expected,
                l.remaining AS actual, l.currency,
                format('lot %s: %s of %s remain, but its draws leave %s', l.lot_id, l.remaining, l.amount,
                    l.amount + coalesce(m.change, 0)) AS line
         FROM lots l LEFT JOIN moved m USING (tenant_id, lot_id) WHERE l.remaining <> l.amount + coalesce(m.change, 0)"
    Lots:
        "WITH lots_left AS (SELECT tenant_id, wallet_id, sum(remaining) AS remaining FROM lots GROUP BY 1, 2)
         SELECT a.tenant_id, 'wallet_' || replace(a.wallet_id::text, '-', '') AS subject, coalesce(l.remaining, 0) AS expected,
                b.balance AS actual, a.currency,
                format('wallet %s: its available account has %s, its lots %s', a.wallet_id, b.balance,
                    coalesce(l.remaining, 0)) AS line
         FROM accounts a JOIN balances b USING (tenant_id, account_id) LEFT JOIN lots_left l USING (tenant_id, wallet_id)
         WHERE a.kind = 'available' AND b.balance <> coalesce(l.remaining, 0)"
    }
    Ok(())
}

/// Events that a worker should have decided long before `since`.
pub(in crate::books) async fn stuck_events(
    conn: &mut PgConnection,
    report: &mut Report,
    since: DateTime<Utc>,
) -> Result<(), StoreError> {
    let rows = sqlx::query_as!(
        Row,
        "SELECT tenant_id, 'evt_' || event_id AS subject, NULL::numeric AS expected, NULL::numeric AS actual,
                NULL::text AS currency,
                format('event %s is %s and was due %s', event_id, state, due_at) AS line
         FROM events WHERE due_at < $1 ORDER BY due_at",
        since,
    );
    collect(Class::EventOutcome, report, rows.fetch(conn)).await
}
