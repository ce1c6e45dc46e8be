\set k :k + 1
\set n :client_id * :stride + :k
BEGIN;
SELECT tenant_id, job_id, wallet_id, held, revenue, event_id FROM bench.work WHERE n = :n \gset
SELECT held AS amount FROM jobs WHERE tenant_id = :tenant_id::uuid AND job_id = :job_id::uuid AND state = 'pending' FOR UPDATE \gset
INSERT INTO settlements (tenant_id, settlement_id, subject_kind, subject_id, phase, version, wallet_id, currency, livemode, amount, snapshot, content_hash, event_id, settled_at) VALUES (:tenant_id::uuid, bench.id(10, :n), 'job', :job_id::uuid, 'capture', 1, :wallet_id::uuid, 'USD', true, :amount, '{}', sha256(:n::text::bytea), :event_id, now()) ON CONFLICT ON CONSTRAINT settlements_key DO NOTHING;
INSERT INTO transfers (tenant_id, settlement_id, entry_type, debit_account_id, credit_account_id, currency, amount, posted_at) VALUES (:tenant_id::uuid, bench.id(10, :n), 'capture', :held::uuid, :revenue::uuid, 'USD', :amount, now());
INSERT INTO job_transitions (tenant_id, job_id, number, from_state, to_state, cause, event_id, at) VALUES (:tenant_id::uuid, :job_id::uuid, 2, 'pending', 'completed', 'event', :event_id, now());
UPDATE jobs SET state = 'completed', settlement_state = 'captured', held = 0, captured = :amount, due = :amount, capture_version = 1, usage_revision = 1, usage_occurred_at = now(), usage_hash = sha256(:n::text::bytea), transition_count = 2, state_at = now() WHERE tenant_id = :tenant_id::uuid AND job_id = :job_id::uuid;
UPDATE events SET state = 'applied', due_at = NULL, decided_at = now(), tenant_id = :tenant_id::uuid, job_id = :job_id::uuid WHERE event_id = :event_id AND livemode;
UPDATE balances SET balance = balance - :amount, version = version + 1, updated_at = now() WHERE tenant_id = :tenant_id::uuid AND account_id = :held::uuid;
UPDATE balances SET balance = balance + :amount, version = version + 1, updated_at = now() WHERE tenant_id = :tenant_id::uuid AND account_id = :revenue::uuid;
COMMIT;
