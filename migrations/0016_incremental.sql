-- Reconciliation that reads only what is new.

-- The transaction that wrote a settlement. Ids and times are given before the commit, so one that commits
-- late would be behind a mark made of them; below the oldest transaction that still runs nothing can appear.
ALTER TABLE settlements ADD COLUMN written_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
COMMENT ON COLUMN settlements.written_in IS 'Transaction that wrote it, for reading what is new; the migration''s for what was there before.';
CREATE INDEX settlements_written ON settlements USING brin (written_in) WITH (pages_per_range = 16, autosummarize = on);

ALTER TABLE reconciliation_runs
    ADD COLUMN reach        text NOT NULL DEFAULT 'full' CHECK (reach IN ('full', 'incremental')),
    ADD COLUMN horizon      bigint,
    ADD COLUMN audit_number bigint,
    ADD COLUMN audit_hash   bytea CHECK (octet_length(audit_hash) = 32),
    ADD CONSTRAINT reconciliation_runs_horizon CHECK (horizon IS NULL OR outcome IN ('in_order', 'exceptions')),
    ADD CONSTRAINT reconciliation_runs_audit CHECK ((audit_number IS NULL) = (audit_hash IS NULL));
ALTER TABLE reconciliation_runs ALTER COLUMN reach DROP DEFAULT;
COMMENT ON COLUMN reconciliation_runs.reach IS 'full looks at everything, incremental at what was written since the run before.';
COMMENT ON COLUMN reconciliation_runs.horizon IS 'Every transaction before this one had ended; the next incremental run begins here.';
COMMENT ON COLUMN reconciliation_runs.audit_number IS 'Newest line of the audit log, when its chain was whole.';
COMMENT ON COLUMN reconciliation_runs.audit_hash IS 'Its hash.';
GRANT UPDATE (reach, horizon, audit_number, audit_hash) ON reconciliation_runs TO quittance_app;

CREATE TABLE reconciliation_marks (
    tenant_id    uuid NOT NULL REFERENCES tenants,
    subject_kind text NOT NULL CHECK (subject_kind IN ('account', 'lot')),
    subject_id   uuid NOT NULL,
    total        numeric(38,9) NOT NULL,
    entries      bigint NOT NULL CHECK (entries >= 0),
    run_id       bigint NOT NULL REFERENCES reconciliation_runs,
    CONSTRAINT reconciliation_marks_pkey PRIMARY KEY (tenant_id, subject_kind, subject_id)
);
COMMENT ON TABLE reconciliation_marks IS 'What entries came to before the horizon of the newest run, so that the next incremental run adds what is new.';
COMMENT ON COLUMN reconciliation_marks.tenant_id IS 'Tenant.';
COMMENT ON COLUMN reconciliation_marks.subject_kind IS 'account: one without a wallet, by its transfers; lot: by its draws. Wallet accounts need none: their transfers carry running balances.';
COMMENT ON COLUMN reconciliation_marks.subject_id IS 'The account or the lot.';
COMMENT ON COLUMN reconciliation_marks.total IS 'Sum of the entries.';
COMMENT ON COLUMN reconciliation_marks.entries IS 'How many they are.';
COMMENT ON COLUMN reconciliation_marks.run_id IS 'The run that last added to it.';
GRANT SELECT, INSERT ON reconciliation_marks TO quittance_app;
GRANT UPDATE (total, entries, run_id) ON reconciliation_marks TO quittance_app;
