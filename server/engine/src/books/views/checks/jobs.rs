//! Jobs: their holds, versions, charge, steps and corrections, and what their wallets hold for them.

use sqlx::{Connection as _, PgConnection};

use super::checks;
use crate::{books::Report, error::StoreError};

pub(super) async fn run(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    match since {
        None => every_charge(conn, report, since).await?,
        Some(_) => new_charges(conn, report, since).await?,
    }
    checks! { conn, report, since;
    HoldEnd:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, s.reserves::numeric AS expected,
                (s.captures + s.releases)::numeric AS actual, NULL::text AS currency,
                format('job %s is %s with %s reserves, %s captures and %s releases', j.job_id, j.state,
                    s.reserves, s.captures, s.releases) AS line
         FROM the_jobs j CROSS JOIN LATERAL (
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
         FROM the_jobs j CROSS JOIN LATERAL (
             SELECT coalesce(max(version) FILTER (WHERE phase = 'reserve'), 0) AS reserve,
                    coalesce(max(version) FILTER (WHERE phase = 'capture'), 0) AS capture,
                    coalesce(max(version) FILTER (WHERE phase = 'release'), 0) AS release,
                    coalesce(max(version) FILTER (WHERE phase = 'adjustment'), 0) AS adjustment,
                    coalesce(max(version) FILTER (WHERE phase = 'reversal'), 0) AS reversal
             FROM settlements s WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) s
         WHERE (j.reserve_version, j.capture_version, j.release_version, j.adjustment_version, j.reversal_version)
            <> (s.reserve, s.capture, s.release, s.adjustment, s.reversal)"
    JobSteps:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, j.transition_count::numeric AS expected,
                s.steps::numeric AS actual, NULL::text AS currency,
                format('job %s is %s after %s steps, but %s steps are written, the last to %s', j.job_id, j.state,
                    j.transition_count, s.steps, coalesce(s.last_state, 'nowhere')) AS line
         FROM the_jobs j CROSS JOIN LATERAL (
             SELECT count(*) AS steps, max(number) AS last, (array_agg(to_state ORDER BY number DESC))[1] AS last_state
             FROM job_transitions t WHERE t.tenant_id = j.tenant_id AND t.job_id = j.job_id) s
         WHERE s.steps <> j.transition_count OR coalesce(s.last, 0) <> j.transition_count OR s.last_state IS DISTINCT FROM j.state"
    JobCorrections:
        ", noted AS (
             SELECT tenant_id, job_id, sum(net) AS net,
                    (array_agg(reversed ORDER BY settlement_id DESC) FILTER (WHERE reversed IS NOT NULL))[1] AS reversed
             FROM job_corrections GROUP BY 1, 2)
         SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, coalesce(n.net, 0) AS expected,
                j.correction AS actual, j.currency,
                format('job %s: corrected by %s%s, but %s%s is noted', j.job_id, j.correction,
                    CASE WHEN j.reversed THEN ', reversed' ELSE '' END, coalesce(n.net, 0),
                    CASE WHEN n.reversed THEN ', reversed' ELSE '' END) AS line
         FROM the_jobs j LEFT JOIN noted n USING (tenant_id, job_id)
         WHERE j.correction <> coalesce(n.net, 0) OR j.reversed <> coalesce(n.reversed, false)"
    JobHold:
        "SELECT tenant_id, 'job_' || replace(job_id::text, '-', '') AS subject, 0::numeric AS expected, held AS actual, currency,
                format('job %s is %s and still holds %s', job_id, state, held) AS line
         FROM the_jobs WHERE held <> 0 AND state NOT IN ('pending', 'running')"
    Holds:
        ", jobs_held AS (
             SELECT tenant_id, wallet_id, sum(held) AS held FROM jobs WHERE state IN ('pending', 'running') GROUP BY 1, 2)
         SELECT a.tenant_id, 'wallet_' || replace(a.wallet_id::text, '-', '') AS subject, coalesce(j.held, 0) AS expected,
                b.balance AS actual, a.currency,
                format('wallet %s: its held account has %s, its jobs hold %s', a.wallet_id, b.balance, coalesce(j.held, 0)) AS line
         FROM the_wallets w JOIN accounts a USING (tenant_id, wallet_id) JOIN balances b USING (tenant_id, account_id)
         LEFT JOIN jobs_held j USING (tenant_id, wallet_id)
         WHERE a.kind = 'held' AND b.balance <> coalesce(j.held, 0)"
    }
    Ok(())
}

/// In one pass over all transfers.
async fn every_charge(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    JobCharge:
        ", moved AS (
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

/// Job by job.
async fn new_charges(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    JobCharge:
        "SELECT j.tenant_id, 'job_' || replace(j.job_id::text, '-', '') AS subject, m.held + m.captured AS expected,
                j.held + j.captured AS actual, j.currency,
                format('job %s: held %s, captured %s, owed %s, but its transfers moved %s, %s, %s', j.job_id, j.held,
                    j.captured, j.receivable, m.held, m.captured, m.receivable) AS line
         FROM the_jobs j CROSS JOIN LATERAL (
             SELECT coalesce(sum(CASE 'held' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END), 0) AS held,
                    coalesce(sum(CASE 'revenue' WHEN c.kind THEN t.amount WHEN d.kind THEN -t.amount ELSE 0 END), 0) AS captured,
                    coalesce(sum(CASE 'receivable' WHEN d.kind THEN t.amount WHEN c.kind THEN -t.amount ELSE 0 END), 0) AS receivable
             FROM settlements s JOIN transfers t USING (tenant_id, settlement_id)
             JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
             JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
             WHERE s.tenant_id = j.tenant_id AND s.subject_kind = 'job' AND s.subject_id = j.job_id) AS m
         WHERE (j.held, j.captured, j.receivable) IS DISTINCT FROM (m.held, m.captured, m.receivable)"
    }
    Ok(())
}
