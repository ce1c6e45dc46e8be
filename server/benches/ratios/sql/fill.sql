-- A product database with :jobs reserved jobs over :wallets wallets, and an event for each that says
-- it succeeded with exactly the usage quoted. Ids count up, as UUIDv7 does. bench.work lists the jobs
-- by number for scripts that settle one at a time.
CREATE SCHEMA bench;
GRANT USAGE ON SCHEMA bench TO quittance_app;

CREATE FUNCTION bench.id(kind int, n bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT ('0190c5c2-' || lpad(to_hex(kind), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid
$$;

INSERT INTO tenants (tenant_id, name, in_flight_limit, created_at)
SELECT bench.id(1, t), 'Tenant ' || t, 100000000, now() FROM generate_series(0, (:wallets - 1) / 100) t;

INSERT INTO wallets (tenant_id, wallet_id, name, currency, livemode, created_at)
SELECT bench.id(1, w / 100), bench.id(2, w), 'Wallet ' || w, 'USD', true, now() FROM generate_series(0, :wallets - 1) w;

INSERT INTO accounts (tenant_id, account_id, wallet_id, kind, currency, livemode)
SELECT bench.id(1, w / 100), bench.id(3, w * 2 + k), bench.id(2, w), CASE k WHEN 0 THEN 'available' ELSE 'held' END, 'USD', true
FROM generate_series(0, :wallets - 1) w, generate_series(0, 1) k;
INSERT INTO accounts (tenant_id, account_id, kind, currency, livemode)
SELECT bench.id(1, t), bench.id(4, t * 8 + k), (ARRAY['revenue', 'funding', 'receivable', 'breakage', 'goodwill'])[k], 'USD', true
FROM generate_series(0, (:wallets - 1) / 100) t, generate_series(1, 5) k;

INSERT INTO price_versions (model, currency, version, terms, effective_from, created_at, created_by)
VALUES ('acme/flux-tiny', 'USD', 1,
    '{"components":[{"meter":"images","price":"1","per":"1"}],"rounding":"half_even","estimate":{"images":"1"}}', '2020-01-01', now(), 'bench');
INSERT INTO sources (source_id, slug, name, adapter, scheme, livemode, created_at)
VALUES (bench.id(5, 1), 'bench', 'Bench', 'generic', 'standard-webhooks-v1', true, now());

CREATE TABLE bench.work AS
SELECT n, n % :wallets AS w, row_number() OVER (PARTITION BY n % :wallets ORDER BY n) AS nth,
       bench.id(1, (n % :wallets) / 100) AS tenant_id, bench.id(2, n % :wallets) AS wallet_id,
       bench.id(3, (n % :wallets) * 2) AS available, bench.id(3, (n % :wallets) * 2 + 1) AS held,
       bench.id(4, (n % :wallets) / 100 * 8 + 1) AS revenue, bench.id(4, (n % :wallets) / 100 * 8 + 2) AS funding,
       bench.id(6, n) AS job_id, 0::bigint AS event_id
FROM generate_series(1, :jobs) n;
CREATE TABLE bench.per_wallet AS
SELECT w, tenant_id, wallet_id, available, held, funding, count(*) AS jobs FROM bench.work GROUP BY 1, 2, 3, 4, 5, 6;

INSERT INTO jobs (tenant_id, job_id, wallet_id, currency, livemode, user_id, client_request_id, request_hash, model, price_version,
    estimate, quote, source_id, provider_reference, refund_on_failure, state, settlement_state, held, reserve_version,
    transition_count, submitted_at, state_at)
SELECT tenant_id, job_id, wallet_id, 'USD', true, 'user', 'r' || n, sha256(n::text::bytea), 'acme/flux-tiny', 1,
    '{"images":"1"}', 1, bench.id(5, 1), 'ref-' || n, true, 'pending', 'reserved', 1, 1, 1, now(), now()
FROM bench.work;
INSERT INTO job_transitions (tenant_id, job_id, number, to_state, cause, at)
SELECT tenant_id, job_id, 1, 'pending', 'submit', now() FROM bench.work;

INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, settled_at)
SELECT tenant_id, bench.id(7, w), 'lot', bench.id(8, w), 'grant', 1, wallet_id, 'USD', true, jobs, '{}'::jsonb, sha256(w::text::bytea), now() FROM bench.per_wallet
UNION ALL
SELECT tenant_id, bench.id(9, n), 'job', job_id, 'reserve', 1, wallet_id, 'USD', true, 1, '{}'::jsonb, sha256(n::text::bytea), now() FROM bench.work;
INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id, currency, amount, credit_balance, posted_at)
SELECT tenant_id, bench.id(7, w), 'grant', funding, available, 'USD', jobs, jobs, now() FROM bench.per_wallet;
INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id, currency, amount, debit_balance, credit_balance, posted_at)
SELECT k.tenant_id, bench.id(9, n), 'hold', k.available, k.held, 'USD', 1, p.jobs - k.nth, k.nth, now()
FROM bench.work k JOIN bench.per_wallet p USING (w) ORDER BY n;
INSERT INTO lots (tenant_id, lot_id, wallet_id, currency, livemode, amount, remaining, note, granted_at, grant_key)
SELECT tenant_id, bench.id(8, w), wallet_id, 'USD', true, jobs, 0, 'bench', now(), w::text FROM bench.per_wallet;
INSERT INTO lot_draws (tenant_id, settlement_id, lot_id, job_id, direction, amount)
SELECT tenant_id, bench.id(9, n), bench.id(8, w), job_id, 'draw', 1 FROM bench.work;
INSERT INTO balances (tenant_id, account_id, currency, floored, balance, version, updated_at)
SELECT a.tenant_id, a.account_id, 'USD', a.wallet_id IS NOT NULL, coalesce(t.balance, 0), coalesce(t.transfers, 0), now()
FROM accounts a LEFT JOIN (
    SELECT tenant_id, account_id, sum(amount) AS balance, count(*) AS transfers FROM (
        SELECT tenant_id, credit_account_id AS account_id, amount FROM transfers
        UNION ALL SELECT tenant_id, debit_account_id, -amount FROM transfers) sides GROUP BY 1, 2) t USING (tenant_id, account_id);

-- :repeats in a hundred jobs get a second event of the same content under another key.
INSERT INTO events (source_id, livemode, event_key, canonical_hash, raw_hash, kind, provider_reference, occurred_at, received_at, shard, state, due_at)
SELECT bench.id(5, 1), true, 'evt-' || n || '-' || copy, sha256(n::text::bytea), sha256(n::text::bytea), 'job.succeeded', 'ref-' || n,
    '2026-11-30', now(), n % 64, 'received', now()
FROM bench.work, generate_series(0, 1) copy WHERE copy = 0 OR n % 100 < :repeats ORDER BY n, copy;
INSERT INTO event_payloads (event_id, received_at, body, headers)
SELECT event_id, received_at, convert_to('{"id":"' || event_key || '","type":"job.succeeded","occurred_at":"2026-11-30T00:00:00Z","data":{"provider_reference":"'
    || provider_reference || '","usage":{"images":"1"}}}', 'UTF8'), '[]' FROM events;
UPDATE bench.work SET event_id = e.event_id FROM events e WHERE e.event_key = 'evt-' || work.n || '-0';
CREATE UNIQUE INDEX ON bench.work (n);
CREATE INDEX ON bench.work (event_id);
VACUUM ANALYZE;
