-- Tenants, their wallets, and the keys their backends call the API with.

CREATE TABLE tenants (
    tenant_id        uuid PRIMARY KEY,
    name             text NOT NULL CHECK (name <> ''),
    in_flight_limit  integer NOT NULL DEFAULT 1000 CHECK (in_flight_limit > 0),
    max_quote        numeric(28,9) CHECK (max_quote > 0),
    overage          text NOT NULL DEFAULT 'cap' CHECK (overage IN ('cap', 'charge', 'receivable')),
    refund_on_failure boolean NOT NULL DEFAULT true,
    late_cancel      text NOT NULL DEFAULT 'capture' CHECK (late_cancel IN ('capture', 'release')),
    partial          text NOT NULL DEFAULT 'bill' CHECK (partial IN ('bill', 'release')),
    created_at       timestamptz NOT NULL
);
COMMENT ON TABLE tenants IS 'A customer of the operator of this installation, with its billing policy.';
COMMENT ON COLUMN tenants.tenant_id IS 'UUIDv7.';
COMMENT ON COLUMN tenants.name IS 'Name shown to staff.';
COMMENT ON COLUMN tenants.in_flight_limit IS 'Jobs that may be unsettled at once; above it a submission is answered 429.';
COMMENT ON COLUMN tenants.max_quote IS 'Largest quote local policy lets through, in the wallet''s currency; above it the job is recorded blocked. NULL: no limit.';
COMMENT ON COLUMN tenants.overage IS 'Usage above the hold: cap it, charge it from available funds, or book a receivable.';
COMMENT ON COLUMN tenants.refund_on_failure IS 'Whether a failed job''s hold returns to the wallet; frozen into each job at submission.';
COMMENT ON COLUMN tenants.late_cancel IS 'Success after an accepted cancel request: capture the usage or release the hold.';
COMMENT ON COLUMN tenants.partial IS 'Partial completion: bill the delivered units or release the whole hold.';
COMMENT ON COLUMN tenants.created_at IS 'When the tenant was set up.';
GRANT SELECT, INSERT, UPDATE ON tenants TO quittance_app;

CREATE TABLE wallets (
    tenant_id     uuid NOT NULL REFERENCES tenants,
    wallet_id     uuid NOT NULL,
    name          text NOT NULL CHECK (name <> ''),
    currency      text NOT NULL REFERENCES currencies,
    livemode      boolean NOT NULL,
    frozen_at     timestamptz,
    frozen_reason text,
    created_at    timestamptz NOT NULL,
    CONSTRAINT wallets_pkey PRIMARY KEY (tenant_id, wallet_id),
    CONSTRAINT wallets_identity UNIQUE (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT wallets_freeze_has_reason CHECK ((frozen_at IS NULL) = (frozen_reason IS NULL))
);
COMMENT ON TABLE wallets IS 'Prepaid funds of a tenant in one currency and one mode.';
COMMENT ON COLUMN wallets.tenant_id IS 'Owner.';
COMMENT ON COLUMN wallets.wallet_id IS 'UUIDv7.';
COMMENT ON COLUMN wallets.name IS 'Name shown to staff and to the tenant.';
COMMENT ON COLUMN wallets.currency IS 'The only currency this wallet holds; never changes.';
COMMENT ON COLUMN wallets.livemode IS 'True for real money, false for tests; never changes.';
COMMENT ON COLUMN wallets.frozen_at IS 'Since when nothing may be spent; NULL when spending is allowed.';
COMMENT ON COLUMN wallets.frozen_reason IS 'Why spending stopped.';
COMMENT ON COLUMN wallets.created_at IS 'When the wallet was opened.';
GRANT SELECT, INSERT ON wallets TO quittance_app;
GRANT UPDATE (frozen_at, frozen_reason) ON wallets TO quittance_app;

CREATE TABLE api_keys (
    tenant_id   uuid NOT NULL REFERENCES tenants,
    api_key_id  uuid NOT NULL,
    name        text NOT NULL CHECK (name <> ''),
    secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
    livemode    boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (tenant_id, api_key_id)
);
COMMENT ON TABLE api_keys IS 'Keys a tenant''s backend signs in with. Only a hash of the secret is kept.';
COMMENT ON COLUMN api_keys.tenant_id IS 'Tenant the key speaks for.';
COMMENT ON COLUMN api_keys.api_key_id IS 'UUIDv7; part of the key text.';
COMMENT ON COLUMN api_keys.name IS 'What the key is for, in the tenant''s words.';
COMMENT ON COLUMN api_keys.secret_hash IS 'SHA-256 of the 32 random bytes of the key.';
COMMENT ON COLUMN api_keys.livemode IS 'Mode of the wallets the key may use.';
COMMENT ON COLUMN api_keys.created_at IS 'When the key was minted.';
COMMENT ON COLUMN api_keys.revoked_at IS 'When the key stopped working; NULL while it works.';
GRANT SELECT, INSERT ON api_keys TO quittance_app;
GRANT UPDATE (revoked_at) ON api_keys TO quittance_app;
