-- The append-only double-entry ledger.
--
-- A transfer moves one positive amount from its debit to its credit account. A balance is credits minus
-- debits: wallets (what we owe the tenant) and revenue are positive, funding and receivable negative,
-- and the sum over all accounts is zero.

CREATE TABLE accounts (
    tenant_id  uuid NOT NULL REFERENCES tenants,
    account_id uuid NOT NULL,
    wallet_id  uuid,
    kind       text NOT NULL CHECK (kind IN ('available', 'held', 'revenue', 'funding', 'receivable', 'breakage', 'goodwill')),
    currency   text NOT NULL REFERENCES currencies,
    livemode   boolean NOT NULL,
    CONSTRAINT accounts_pkey PRIMARY KEY (tenant_id, account_id),
    CONSTRAINT accounts_currency UNIQUE (tenant_id, account_id, currency),
    CONSTRAINT accounts_identity UNIQUE NULLS NOT DISTINCT (tenant_id, wallet_id, kind, currency, livemode),
    CONSTRAINT accounts_wallet FOREIGN KEY (tenant_id, wallet_id, currency, livemode)
        REFERENCES wallets (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT accounts_wallet_kind CHECK ((kind IN ('available', 'held')) = (wallet_id IS NOT NULL))
);
COMMENT ON TABLE accounts IS 'Where money is: two accounts a wallet, and one of each platform kind a tenant, currency and mode.';
COMMENT ON COLUMN accounts.tenant_id IS 'Tenant whose books it belongs to.';
COMMENT ON COLUMN accounts.account_id IS 'UUIDv7.';
COMMENT ON COLUMN accounts.wallet_id IS 'The wallet, for available and held; NULL for platform accounts.';
COMMENT ON COLUMN accounts.kind IS 'What the money is for.';
COMMENT ON COLUMN accounts.currency IS 'Its only currency.';
COMMENT ON COLUMN accounts.livemode IS 'Its mode.';
GRANT SELECT, INSERT ON accounts TO quittance_app;

CREATE TABLE balances (
    tenant_id  uuid NOT NULL,
    account_id uuid NOT NULL,
    currency   text NOT NULL,
    floored    boolean NOT NULL,
    balance    numeric(28,9) NOT NULL DEFAULT 0,
    version    bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
    updated_at timestamptz NOT NULL,
    CONSTRAINT balances_pkey PRIMARY KEY (tenant_id, account_id),
    CONSTRAINT balances_account FOREIGN KEY (tenant_id, account_id, currency) REFERENCES accounts (tenant_id, account_id, currency),
    CONSTRAINT balances_not_overdrawn CHECK (NOT floored OR balance >= 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE balances IS 'Projection of the transfers, written in the same transaction; the row of a wallet''s available account is the wallet''s lock.';
COMMENT ON COLUMN balances.tenant_id IS 'Tenant of the account.';
COMMENT ON COLUMN balances.account_id IS 'The account.';
COMMENT ON COLUMN balances.currency IS 'Currency of the account.';
COMMENT ON COLUMN balances.floored IS 'True for wallet accounts: they never go below zero.';
COMMENT ON COLUMN balances.balance IS 'Credits minus debits.';
COMMENT ON COLUMN balances.version IS 'Transfers counted in.';
COMMENT ON COLUMN balances.updated_at IS 'When it last changed.';
GRANT SELECT, INSERT ON balances TO quittance_app;
GRANT UPDATE (balance, version, updated_at) ON balances TO quittance_app;

CREATE TABLE settlements (
    tenant_id     uuid NOT NULL,
    settlement_id uuid NOT NULL,
    subject_kind  text NOT NULL CHECK (subject_kind IN ('job', 'lot')),
    subject_id    uuid NOT NULL,
    phase         text NOT NULL CHECK (phase IN ('reserve', 'capture', 'release', 'adjustment', 'reversal', 'grant', 'expiry', 'refund', 'write_off')),
    version       integer NOT NULL CHECK (version > 0),
    wallet_id     uuid NOT NULL,
    currency      text NOT NULL,
    livemode      boolean NOT NULL,
    amount        numeric(28,9) NOT NULL CHECK (amount >= 0),
    snapshot      jsonb NOT NULL,
    content_hash  bytea NOT NULL CHECK (octet_length(content_hash) = 32),
    event_id      bigint,
    settled_at    timestamptz NOT NULL,
    job_id        uuid GENERATED ALWAYS AS (CASE WHEN subject_kind = 'job' THEN subject_id END) STORED,
    CONSTRAINT settlements_pkey PRIMARY KEY (tenant_id, settlement_id),
    CONSTRAINT settlements_key UNIQUE (tenant_id, subject_kind, subject_id, phase, version),
    CONSTRAINT settlements_wallet FOREIGN KEY (tenant_id, wallet_id, currency, livemode)
        REFERENCES wallets (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT settlements_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs,
    -- A test-mode event can never be the cause of a live settlement.
    CONSTRAINT settlements_event FOREIGN KEY (event_id, livemode) REFERENCES events
);
COMMENT ON TABLE settlements IS 'The final effect of one phase of one subject, once for ever. The key reads tenant/subject/phase/version.';
COMMENT ON COLUMN settlements.tenant_id IS 'Tenant that pays or receives.';
COMMENT ON COLUMN settlements.settlement_id IS 'UUIDv7, for joins and links; the key is settlements_key.';
COMMENT ON COLUMN settlements.subject_kind IS 'What was settled: a job, or a lot of credit.';
COMMENT ON COLUMN settlements.subject_id IS 'Its id.';
COMMENT ON COLUMN settlements.phase IS 'Which effect.';
COMMENT ON COLUMN settlements.version IS 'Counts up from 1 within subject and phase.';
COMMENT ON COLUMN settlements.wallet_id IS 'Wallet whose money moved.';
COMMENT ON COLUMN settlements.currency IS 'Currency of the wallet.';
COMMENT ON COLUMN settlements.livemode IS 'Mode of the wallet.';
COMMENT ON COLUMN settlements.amount IS 'What the phase amounts to: held, charged, returned or corrected; zero when the work cost nothing.';
COMMENT ON COLUMN settlements.snapshot IS 'Usage, price terms and arithmetic it was rated from; decimals are strings.';
COMMENT ON COLUMN settlements.content_hash IS 'SHA-256 of the canonical content; a retry must match it.';
COMMENT ON COLUMN settlements.event_id IS 'The event that caused it, if one did.';
COMMENT ON COLUMN settlements.settled_at IS 'When it was written.';
COMMENT ON COLUMN settlements.job_id IS 'The job, when the subject is one.';
CREATE INDEX settlements_time ON settlements USING brin (settled_at);
CREATE INDEX settlements_newest ON settlements (settlement_id);
SELECT make_append_only('settlements');

CREATE TABLE transfers (
    tenant_id         uuid NOT NULL,
    settlement_id     uuid NOT NULL,
    entry_type        text NOT NULL CHECK (entry_type IN ('hold', 'capture', 'remainder', 'overage', 'receivable', 'release',
                          'adjustment_charge', 'adjustment_credit', 'adjustment_receivable',
                          'adjustment_receivable_credit', 'grant', 'goodwill', 'breakage')),
    posting_id        bigint GENERATED ALWAYS AS IDENTITY,
    debit_account_id  uuid NOT NULL,
    credit_account_id uuid NOT NULL,
    currency          text NOT NULL,
    amount            numeric(28,9) NOT NULL,
    debit_balance     numeric(28,9),
    credit_balance    numeric(28,9),
    posted_at         timestamptz NOT NULL,
    CONSTRAINT transfers_pkey PRIMARY KEY (tenant_id, settlement_id, entry_type),
    CONSTRAINT transfers_settlement FOREIGN KEY (tenant_id, settlement_id) REFERENCES settlements,
    CONSTRAINT transfers_debit FOREIGN KEY (tenant_id, debit_account_id, currency) REFERENCES accounts (tenant_id, account_id, currency),
    CONSTRAINT transfers_credit FOREIGN KEY (tenant_id, credit_account_id, currency) REFERENCES accounts (tenant_id, account_id, currency),
    CONSTRAINT transfers_positive CHECK (amount > 0),
    CONSTRAINT transfers_two_accounts CHECK (debit_account_id <> credit_account_id)
);
COMMENT ON TABLE transfers IS 'One debit→credit movement. Debits equal credits because a row is both.';
COMMENT ON COLUMN transfers.tenant_id IS 'Tenant whose books it is in.';
COMMENT ON COLUMN transfers.settlement_id IS 'The settlement it belongs to.';
COMMENT ON COLUMN transfers.entry_type IS 'Its role in the settlement; once each.';
COMMENT ON COLUMN transfers.posting_id IS 'Order of posting; strictly increasing within a wallet account, which is locked first.';
COMMENT ON COLUMN transfers.debit_account_id IS 'Account the amount leaves.';
COMMENT ON COLUMN transfers.credit_account_id IS 'Account the amount enters.';
COMMENT ON COLUMN transfers.currency IS 'Currency of both accounts.';
COMMENT ON COLUMN transfers.amount IS 'Amount moved, always positive.';
COMMENT ON COLUMN transfers.debit_balance IS 'Balance of the debit account after it; NULL for platform accounts, which are not locked first.';
COMMENT ON COLUMN transfers.credit_balance IS 'Balance of the credit account after it; NULL for platform accounts.';
COMMENT ON COLUMN transfers.posted_at IS 'When it was written.';
CREATE INDEX transfers_debit_ledger ON transfers (tenant_id, debit_account_id, posting_id);
CREATE INDEX transfers_credit_ledger ON transfers (tenant_id, credit_account_id, posting_id);
SELECT make_append_only('transfers');

CREATE TABLE lots (
    tenant_id  uuid NOT NULL,
    lot_id     uuid NOT NULL,
    wallet_id  uuid NOT NULL,
    currency   text NOT NULL,
    livemode   boolean NOT NULL,
    amount     numeric(28,9) NOT NULL CHECK (amount > 0),
    remaining  numeric(28,9) NOT NULL,
    note       text NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz,
    CONSTRAINT lots_pkey PRIMARY KEY (tenant_id, lot_id),
    CONSTRAINT lots_wallet FOREIGN KEY (tenant_id, wallet_id, currency, livemode)
        REFERENCES wallets (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT lots_remaining CHECK (remaining BETWEEN 0 AND amount)
) WITH (fillfactor = 70);
COMMENT ON TABLE lots IS 'Dated grants of credit, burnt soonest expiry first. remaining is a projection of lot_draws.';
COMMENT ON COLUMN lots.tenant_id IS 'Tenant of the wallet.';
COMMENT ON COLUMN lots.lot_id IS 'UUIDv7.';
COMMENT ON COLUMN lots.wallet_id IS 'Wallet it funds.';
COMMENT ON COLUMN lots.currency IS 'Currency of the wallet.';
COMMENT ON COLUMN lots.livemode IS 'Mode of the wallet.';
COMMENT ON COLUMN lots.amount IS 'What was granted.';
COMMENT ON COLUMN lots.remaining IS 'What is neither spent, held nor expired.';
COMMENT ON COLUMN lots.note IS 'Where the credit came from.';
COMMENT ON COLUMN lots.granted_at IS 'When it was granted.';
COMMENT ON COLUMN lots.expires_at IS 'When what remains expires; NULL for never.';
CREATE INDEX lots_open ON lots (tenant_id, wallet_id, expires_at, lot_id) WHERE remaining > 0;
CREATE INDEX lots_expiring ON lots (expires_at) WHERE remaining > 0 AND expires_at IS NOT NULL;
GRANT SELECT, INSERT ON lots TO quittance_app;
GRANT UPDATE (remaining) ON lots TO quittance_app;

CREATE TABLE lot_draws (
    tenant_id     uuid NOT NULL,
    settlement_id uuid NOT NULL,
    lot_id        uuid NOT NULL,
    job_id        uuid,
    direction     text NOT NULL CHECK (direction IN ('draw', 'return')),
    amount        numeric(28,9) NOT NULL CHECK (amount > 0),
    CONSTRAINT lot_draws_pkey PRIMARY KEY (tenant_id, settlement_id, lot_id),
    CONSTRAINT lot_draws_settlement FOREIGN KEY (tenant_id, settlement_id) REFERENCES settlements,
    CONSTRAINT lot_draws_lot FOREIGN KEY (tenant_id, lot_id) REFERENCES lots
);
COMMENT ON TABLE lot_draws IS 'Which lots a settlement took credit from or gave it back to.';
COMMENT ON COLUMN lot_draws.tenant_id IS 'Tenant of the wallet.';
COMMENT ON COLUMN lot_draws.settlement_id IS 'The settlement.';
COMMENT ON COLUMN lot_draws.lot_id IS 'The lot.';
COMMENT ON COLUMN lot_draws.job_id IS 'The job it was for, if any.';
COMMENT ON COLUMN lot_draws.direction IS 'draw lowers what remains, return raises it.';
COMMENT ON COLUMN lot_draws.amount IS 'How much, always positive.';
CREATE INDEX lot_draws_by_job ON lot_draws (tenant_id, job_id) WHERE job_id IS NOT NULL;
SELECT make_append_only('lot_draws');
