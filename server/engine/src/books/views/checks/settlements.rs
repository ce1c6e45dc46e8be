//! Settlements: their versions, transfers, events, lots and prices.

use sqlx::{Connection as _, PgConnection};

use super::checks;
use crate::{books::Report, error::StoreError};

pub(super) async fn run(
    conn: &mut PgConnection,
    report: &mut Report,
    since: Option<i64>,
) -> Result<(), StoreError> {
    checks! { conn, report, since;
    Versions:
        "SELECT s.tenant_id, s.subject_kind || '_' || replace(s.subject_id::text, '-', '') || ' ' || s.phase AS subject,
                (s.version - 1)::numeric AS expected, coalesce(before.version, 0)::numeric AS actual, NULL::text AS currency,
                format('%s %s, %s: version %s follows %s', s.subject_kind, s.subject_id, s.phase, s.version,
                    coalesce('version ' || before.version, 'nothing')) AS line
         FROM the_settlements s LEFT JOIN LATERAL (
             SELECT p.version FROM settlements p
             WHERE p.tenant_id = s.tenant_id AND p.subject_kind = s.subject_kind AND p.subject_id = s.subject_id
               AND p.phase = s.phase AND p.version < s.version
             ORDER BY p.version DESC LIMIT 1) AS before ON true
         WHERE s.version > 1 AND before.version IS DISTINCT FROM s.version - 1"
    Transfers:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') AS subject, s.amount AS expected,
                0::numeric AS actual, s.currency,
                format('settlement %s (%s %s, %s/%s): %s and no transfer', s.settlement_id, s.subject_kind, s.subject_id,
                    s.phase, s.version, s.amount) AS line
         FROM the_settlements s WHERE s.amount > 0 AND NOT EXISTS (
             SELECT 1 FROM transfers t WHERE t.tenant_id = s.tenant_id AND t.settlement_id = s.settlement_id)"
    SettlementEvent:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') AS subject, NULL::numeric AS expected,
                s.amount AS actual, s.currency,
                format('settlement %s: event %s that caused it is %s for %s', s.settlement_id, s.event_id, e.state,
                    coalesce(e.job_id::text, 'no job')) AS line
         FROM the_settlements s JOIN events e ON e.event_id = s.event_id AND e.livemode = s.livemode
         WHERE e.state NOT IN ('applied', 'ignored') OR e.job_id IS DISTINCT FROM s.job_id"
    Grant:
        "SELECT l.tenant_id, 'lot_' || replace(l.lot_id::text, '-', '') AS subject, l.amount AS expected,
                s.amount AS actual, l.currency,
                format('lot %s: %s granted, but its grant settlement says %s', l.lot_id, l.amount,
                    coalesce(s.amount::text, 'nothing')) AS line
         FROM the_lots l LEFT JOIN settlements s ON s.tenant_id = l.tenant_id AND s.subject_kind = 'lot'
             AND s.subject_id = l.lot_id AND s.phase = 'grant'
         WHERE s.amount IS DISTINCT FROM l.amount"
    Price:
        "SELECT s.tenant_id, 'stl_' || replace(s.settlement_id::text, '-', '') || ' ' || (line->>'meter') AS subject,
                (component->>'price')::numeric AS expected, (line->>'price')::numeric AS actual, s.currency,
                format('settlement %s: %s was rated at %s for %s, but version %s of %s says %s for %s', s.settlement_id,
                    line->>'meter', line->>'price', line->>'per', rating->>'version', rating->>'model',
                    coalesce(component->>'price', 'nothing'), component->>'per') AS line
         FROM (SELECT *, coalesce(snapshot->'rating', snapshot->'quote') AS rating FROM the_settlements
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
