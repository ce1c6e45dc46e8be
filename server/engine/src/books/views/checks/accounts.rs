//! Accounts: balances, the trial balance, modes and running balances.
//!
//! Wallet transfers carry running balances, so what is new of a wallet follows from the transfer before it.
//! Accounts without a wallet are added to a mark that the run before has left.

use sqlx::{Connection as _, PgConnection};

use super::checks;
use crate::{books::Report, error::StoreError};

pub(super) async fn run(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    match since {
        None => {
            every_balance(conn, report).await?;
            every_running_balance(conn, report).await?;
        }
        Some(_) => new_balances(conn, report, since).await?,
    }
    trial_balance(conn, report).await?;
    modes(conn, report, since).await
}

pub(super) async fn trial_balance(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    let since = None::<i64>;
    checks! { conn, report, since;
    TrialBalance:
        "SELECT a.tenant_id, 'tenant_' || replace(a.tenant_id::text, '-', '') || ' ' || a.currency
                    || CASE WHEN a.livemode THEN ' live' ELSE ' test' END AS subject,
                0::numeric AS expected, sum(b.balance) AS actual, a.currency,
                format('tenant %s, %s, %s: the balances of all accounts sum up to %s instead of 0', a.tenant_id, a.currency,
                    CASE WHEN a.livemode THEN 'live' ELSE 'test' END, sum(b.balance)) AS line
         FROM accounts a JOIN balances b USING (tenant_id, account_id)
         GROUP BY a.tenant_id, a.currency, a.livemode HAVING sum(b.balance) <> 0"
    }
    Ok(())
}

async fn modes(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    ModeAndWallet:
        "SELECT t.tenant_id, 'stl_' || replace(t.settlement_id::text, '-', '') || ' ' || t.entry_type AS subject,
                NULL::numeric AS expected, t.amount AS actual, t.currency,
                format('transfer %s of settlement %s: its accounts are not of the mode and wallet of the settlement',
                    t.posting_id, t.settlement_id) AS line
         FROM the_transfers t JOIN settlements s USING (tenant_id, settlement_id)
         JOIN accounts d ON d.tenant_id = t.tenant_id AND d.account_id = t.debit_account_id
         JOIN accounts c ON c.tenant_id = t.tenant_id AND c.account_id = t.credit_account_id
         WHERE d.livemode <> s.livemode OR c.livemode <> s.livemode OR t.currency <> s.currency
            OR coalesce(d.wallet_id, s.wallet_id) <> s.wallet_id OR coalesce(c.wallet_id, s.wallet_id) <> s.wallet_id"
    }
    Ok(())
}

/// Transfers between two accounts are added up once, for both.
pub(super) async fn every_balance(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    let since = None::<i64>;
    checks! { conn, report, since;
    Balance:
        ", pairs AS MATERIALIZED (
             SELECT tenant_id, debit_account_id, credit_account_id, sum(amount) AS total, count(*) AS transfers
             FROM transfers GROUP BY 1, 2, 3),
         moved AS (
             SELECT tenant_id, account_id, sum(change) AS total, sum(transfers) AS transfers FROM (
                 SELECT tenant_id, debit_account_id AS account_id, -total AS change, transfers FROM pairs
                 UNION ALL SELECT tenant_id, credit_account_id, total, transfers FROM pairs) AS sides
             GROUP BY 1, 2)
         SELECT a.tenant_id, 'acct_' || replace(a.account_id::text, '-', '') AS subject, coalesce(m.total, 0) AS expected,
                b.balance AS actual, a.currency,
                format('account %s (%s): the balance is %s after %s transfers, but %s transfers sum up to %s',
                    a.account_id, a.kind, b.balance, b.version, coalesce(m.transfers, 0), coalesce(m.total, 0)) AS line
         FROM accounts a LEFT JOIN balances b USING (tenant_id, account_id) LEFT JOIN moved m USING (tenant_id, account_id)
         WHERE b.balance IS DISTINCT FROM coalesce(m.total, 0) OR b.version IS DISTINCT FROM coalesce(m.transfers, 0)"
    }
    Ok(())
}

async fn every_running_balance(
    conn: &mut PgConnection,
    report: &mut Report,
) -> Result<(), StoreError> {
    let since = None::<i64>;
    checks! { conn, report, since;
    RunningBalances:
        ", sides AS (
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

async fn new_balances(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    Balance:
        ", sides AS (
             SELECT tenant_id, debit_account_id AS account_id, -amount AS change FROM the_transfers
             UNION ALL SELECT tenant_id, credit_account_id, amount FROM the_transfers),
         added AS (
             SELECT tenant_id, account_id, sum(change) AS total, count(*) AS entries FROM sides GROUP BY 1, 2),
         proven AS (
             SELECT a.tenant_id, a.account_id, a.kind, a.currency, coalesce(m.total, 0) + coalesce(n.total, 0) AS total,
                    coalesce(m.entries, 0) + coalesce(n.entries, 0) AS entries
             FROM accounts a LEFT JOIN added n USING (tenant_id, account_id)
             LEFT JOIN reconciliation_marks m ON m.tenant_id = a.tenant_id AND m.subject_kind = 'account' AND m.subject_id = a.account_id
             WHERE a.wallet_id IS NULL
             UNION ALL
             SELECT a.tenant_id, a.account_id, a.kind, a.currency, coalesce(last.after, 0), NULL
             FROM the_wallets w JOIN accounts a USING (tenant_id, wallet_id)
             LEFT JOIN LATERAL (
                 SELECT after FROM (
                     (SELECT posting_id, debit_balance AS after FROM transfers t
                      WHERE t.tenant_id = a.tenant_id AND t.debit_account_id = a.account_id ORDER BY posting_id DESC LIMIT 1)
                     UNION ALL
                     (SELECT posting_id, credit_balance FROM transfers t
                      WHERE t.tenant_id = a.tenant_id AND t.credit_account_id = a.account_id ORDER BY posting_id DESC LIMIT 1)) AS newest
                 ORDER BY posting_id DESC LIMIT 1) AS last ON true)
         SELECT p.tenant_id, 'acct_' || replace(p.account_id::text, '-', '') AS subject, p.total AS expected, b.balance AS actual,
                p.currency,
                format('account %s (%s): the balance is %s after %s transfers, but its transfers sum up to %s',
                    p.account_id, p.kind, b.balance, b.version, p.total) AS line
         FROM proven p LEFT JOIN balances b USING (tenant_id, account_id)
         WHERE b.balance IS DISTINCT FROM p.total OR b.version IS DISTINCT FROM coalesce(p.entries, b.version)"
    RunningBalances:
        ", sides AS (
             SELECT t.tenant_id, t.debit_account_id AS account_id, t.currency, t.posting_id, -t.amount AS change, t.debit_balance AS after
             FROM the_transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.debit_account_id
             WHERE a.wallet_id IS NOT NULL
             UNION ALL
             SELECT t.tenant_id, t.credit_account_id, t.currency, t.posting_id, t.amount, t.credit_balance
             FROM the_transfers t JOIN accounts a ON a.tenant_id = t.tenant_id AND a.account_id = t.credit_account_id
             WHERE a.wallet_id IS NOT NULL),
         linked AS (
             SELECT s.*, coalesce(earlier.after, 0) AS before FROM sides s LEFT JOIN LATERAL (
                 SELECT after FROM (
                     (SELECT posting_id, debit_balance AS after FROM transfers t
                      WHERE t.tenant_id = s.tenant_id AND t.debit_account_id = s.account_id
                        AND t.posting_id < s.posting_id ORDER BY posting_id DESC LIMIT 1)
                     UNION ALL
                     (SELECT posting_id, credit_balance FROM transfers t
                      WHERE t.tenant_id = s.tenant_id AND t.credit_account_id = s.account_id
                        AND t.posting_id < s.posting_id ORDER BY posting_id DESC LIMIT 1)) AS newest
                 ORDER BY posting_id DESC LIMIT 1) AS earlier ON true)
         SELECT tenant_id, 'acct_' || replace(account_id::text, '-', '') || ' ' || posting_id AS subject,
                before + change AS expected, after AS actual, currency,
                format('account %s: transfer %s changes it by %s from %s, yet records a balance of %s',
                    account_id, posting_id, change, before, coalesce(after::text, 'nothing')) AS line
         FROM linked WHERE after IS DISTINCT FROM before + change"
    }
    Ok(())
}
