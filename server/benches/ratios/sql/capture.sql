-- Captures every job of bench.work from :first to :last as the product writes it, hashes included, and
-- gives what the fill wrote without a hash its own.
CREATE OR REPLACE FUNCTION bench.hash(key text, amount numeric, entry text, snapshot text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT sha256(convert_to('{"amount":"' || trim_scale(amount) || '","currency":"USD","entries":[["' || entry || '","'
        || trim_scale(amount) || '"]],"key":"' || key || '","snapshot":' || snapshot || '}', 'UTF8'))
$$;
CREATE OR REPLACE FUNCTION bench.name(kind text, id uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT kind || '_' || replace(id::text, '-', '')
$$;

SET session_replication_role = replica;
UPDATE settlements s SET content_hash = hashed.hash FROM (
    SELECT tenant_id, settlement_id, bench.hash(
        bench.name('tenant', tenant_id) || '/' || bench.name(subject_kind, subject_id) || '/' || phase || '/1', amount,
        CASE phase WHEN 'grant' THEN 'grant' ELSE 'hold' END, '{}') AS hash
    FROM settlements WHERE phase IN ('grant', 'reserve')) AS hashed
WHERE s.tenant_id = hashed.tenant_id AND s.settlement_id = hashed.settlement_id AND s.content_hash <> hashed.hash;
SET session_replication_role = DEFAULT;

INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at)
SELECT tenant_id, bench.id(10, n), 'job', job_id, 'capture', 1, wallet_id, 'USD', true, 1, rated.snapshot::jsonb,
    bench.hash(bench.name('tenant', tenant_id) || '/' || bench.name('job', job_id) || '/capture/1', 1, 'capture', rated.snapshot), event_id, now()
FROM bench.work CROSS JOIN (SELECT '{"rating":{"lines":[{"meter":"images","per":"1","price":"1","quantity":"1"}],"version":1}}' AS snapshot) rated
WHERE n BETWEEN :first AND :last ORDER BY n;
INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id, currency, amount, debit_balance, posted_at)
SELECT k.tenant_id, bench.id(10, n), 'capture', held, revenue, 'USD', 1,
       b.balance - row_number() OVER (PARTITION BY held ORDER BY n), now()
FROM bench.work k JOIN balances b ON b.tenant_id = k.tenant_id AND b.account_id = k.held
WHERE n BETWEEN :first AND :last ORDER BY n;
INSERT INTO job_transitions (tenant_id, job_id, number, from_state, to_state, cause, event_id, at)
SELECT tenant_id, job_id, 2, 'pending', 'completed', 'event', event_id, now() FROM bench.work WHERE n BETWEEN :first AND :last;
UPDATE jobs SET state = 'completed', settlement_state = 'captured', held = 0, captured = 1, due = 1, capture_version = 1, usage_revision = 1,
    usage_occurred_at = now(), usage_hash = sha256(k.n::text::bytea), transition_count = 2, state_at = now()
FROM bench.work k WHERE jobs.tenant_id = k.tenant_id AND jobs.job_id = k.job_id AND k.n BETWEEN :first AND :last;
UPDATE events SET state = 'applied', due_at = NULL, decided_at = now(), tenant_id = k.tenant_id, job_id = k.job_id
FROM bench.work k WHERE events.event_id = k.event_id AND events.livemode AND k.n BETWEEN :first AND :last;
UPDATE balances b SET balance = b.balance + d.change, version = b.version + d.n, updated_at = now() FROM (
    SELECT tenant_id, account_id, sum(a) AS change, count(*) AS n FROM (
        SELECT tenant_id, held AS account_id, -1 AS a FROM bench.work WHERE n BETWEEN :first AND :last
        UNION ALL SELECT tenant_id, revenue, 1 FROM bench.work WHERE n BETWEEN :first AND :last) x GROUP BY 1, 2) d
WHERE b.tenant_id = d.tenant_id AND b.account_id = d.account_id;
