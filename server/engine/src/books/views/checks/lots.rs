//! Lots: what their draws left, and what their wallets have available.

use sqlx::{Connection as _, PgConnection};

use super::checks;
use crate::{books::Report, error::StoreError};

pub(super) async fn run(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    match since {
        None => every_lot(conn, report, since).await?,
        Some(_) => drawn_lots(conn, report, since).await?,
    }
    checks! { conn, report, since;
    Lots:
        ", lots_left AS (
             SELECT l.tenant_id, l.wallet_id, sum(l.remaining) AS remaining FROM the_wallets w
             JOIN lots l ON l.tenant_id = w.tenant_id AND l.wallet_id = w.wallet_id AND l.remaining > 0 GROUP BY 1, 2)
         SELECT a.tenant_id, 'wallet_' || replace(a.wallet_id::text, '-', '') AS subject, coalesce(l.remaining, 0) AS expected,
                b.balance AS actual, a.currency,
                format('wallet %s: its available account has %s, its lots %s', a.wallet_id, b.balance,
                    coalesce(l.remaining, 0)) AS line
         FROM the_wallets w JOIN accounts a USING (tenant_id, wallet_id) JOIN balances b USING (tenant_id, account_id)
         LEFT JOIN lots_left l USING (tenant_id, wallet_id)
         WHERE a.kind = 'available' AND b.balance <> coalesce(l.remaining, 0)"
    }
    Ok(())
}

async fn every_lot(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    LotDraws:
        ", moved AS (
             SELECT tenant_id, lot_id, sum(CASE direction WHEN 'draw' THEN -amount ELSE amount END) AS change
             FROM lot_draws GROUP BY 1, 2)
         SELECT l.tenant_id, 'lot_' || replace(l.lot_id::text, '-', '') AS subject, l.amount + coalesce(m.change, 0) AS expected,
                l.remaining AS actual, l.currency,
                format('lot %s: %s of %s remain, but its draws leave %s', l.lot_id, l.remaining, l.amount,
                    l.amount + coalesce(m.change, 0)) AS line
         FROM lots l LEFT JOIN moved m USING (tenant_id, lot_id) WHERE l.remaining <> l.amount + coalesce(m.change, 0)"
    }
    Ok(())
}

/// A lot may have been drawn from a million times: the run before left a mark of what its draws came to.
async fn drawn_lots(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    LotDraws:
        ", added AS (
             SELECT d.tenant_id, d.lot_id, sum(CASE d.direction WHEN 'draw' THEN -d.amount ELSE d.amount END) AS change
             FROM the_settlements s CROSS JOIN LATERAL (
                 SELECT * FROM lot_draws d WHERE d.tenant_id = s.tenant_id AND d.settlement_id = s.settlement_id OFFSET 0) AS d
             GROUP BY 1, 2)
         SELECT l.tenant_id, 'lot_' || replace(l.lot_id::text, '-', '') AS subject,
                l.amount + coalesce(m.total, 0) + n.change AS expected, l.remaining AS actual, l.currency,
                format('lot %s: %s of %s remain, but its draws leave %s', l.lot_id, l.remaining, l.amount,
                    l.amount + coalesce(m.total, 0) + n.change) AS line
         FROM added n JOIN lots l USING (tenant_id, lot_id)
         LEFT JOIN reconciliation_marks m ON m.tenant_id = l.tenant_id AND m.subject_kind = 'lot' AND m.subject_id = l.lot_id
         WHERE l.remaining <> l.amount + coalesce(m.total, 0) + n.change"
    }
    Ok(())
}
