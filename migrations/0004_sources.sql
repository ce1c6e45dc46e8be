-- Configured senders of webhooks and the secrets their signatures are checked with.

CREATE TABLE sources (
    source_id         uuid PRIMARY KEY,
    slug              text NOT NULL CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name              text NOT NULL CHECK (name <> ''),
    adapter           text NOT NULL CHECK (adapter IN ('generic', 'replicate')),
    scheme            text NOT NULL CHECK (scheme IN ('standard-webhooks-v1', 'standard-webhooks-v1a', 'svix-v1',
                          'openai', 'replicate', 'stripe', 'fal-ed25519', 'elevenlabs-v0', 'static-header', 'url-token')),
    livemode          boolean NOT NULL,
    header_name       text CHECK (header_name = lower(header_name)),
    tolerance_seconds integer NOT NULL DEFAULT 300 CHECK (tolerance_seconds BETWEEN 1 AND 86400),
    body_limit_bytes  integer NOT NULL DEFAULT 1048576 CHECK (body_limit_bytes BETWEEN 1024 AND 33554432),
    ack_status        smallint NOT NULL DEFAULT 200 CHECK (ack_status IN (200, 202)),
    jwks_url          text CHECK (jwks_url LIKE 'http%://%'),
    jwks              jsonb,
    jwks_fetched_at   timestamptz,
    created_at        timestamptz NOT NULL,
    disabled_at       timestamptz,
    CONSTRAINT sources_slug UNIQUE (slug),
    CONSTRAINT sources_static_header_named CHECK ((scheme = 'static-header') = (header_name IS NOT NULL))
);
COMMENT ON TABLE sources IS 'A configured sender (provider, payment processor, gateway): adapter, signature scheme, limits.';
COMMENT ON COLUMN sources.source_id IS 'UUIDv7.';
COMMENT ON COLUMN sources.slug IS 'Name in the webhook URL: /webhooks/{slug}.';
COMMENT ON COLUMN sources.name IS 'Name shown to staff.';
COMMENT ON COLUMN sources.adapter IS 'Which adapter reads its events into facts.';
COMMENT ON COLUMN sources.scheme IS 'How its requests prove where they come from.';
COMMENT ON COLUMN sources.livemode IS 'Mode of its events; test events never move live money.';
COMMENT ON COLUMN sources.header_name IS 'Header that carries the shared value, for scheme static-header only.';
COMMENT ON COLUMN sources.tolerance_seconds IS 'Largest age of a signed timestamp, in seconds.';
COMMENT ON COLUMN sources.body_limit_bytes IS 'Largest body accepted, in bytes; above it 413.';
COMMENT ON COLUMN sources.ack_status IS 'Status of an accepted delivery; some senders know only 200.';
COMMENT ON COLUMN sources.jwks_url IS 'Where its public keys are fetched from, outside any request.';
COMMENT ON COLUMN sources.jwks IS 'Public keys given by configuration or last fetched.';
COMMENT ON COLUMN sources.jwks_fetched_at IS 'When jwks was last fetched; NULL when given by configuration.';
COMMENT ON COLUMN sources.created_at IS 'When the source was set up.';
COMMENT ON COLUMN sources.disabled_at IS 'Since when its deliveries are refused; NULL while accepted.';
GRANT SELECT, INSERT, UPDATE ON sources TO quittance_app;

CREATE TABLE source_secrets (
    secret_id  uuid PRIMARY KEY,
    source_id  uuid NOT NULL REFERENCES sources,
    nonce      bytea NOT NULL CHECK (octet_length(nonce) = 24),
    ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) > 16),
    created_at timestamptz NOT NULL,
    expires_at timestamptz
);
COMMENT ON TABLE source_secrets IS 'Verification secrets, encrypted at rest (XChaCha20-Poly1305, bound to source and secret id).';
COMMENT ON COLUMN source_secrets.secret_id IS 'UUIDv7; authenticated with the ciphertext.';
COMMENT ON COLUMN source_secrets.source_id IS 'Source whose deliveries it verifies.';
COMMENT ON COLUMN source_secrets.nonce IS 'Random nonce of the encryption.';
COMMENT ON COLUMN source_secrets.ciphertext IS 'The secret, encrypted with the installation''s key.';
COMMENT ON COLUMN source_secrets.created_at IS 'When it was added.';
COMMENT ON COLUMN source_secrets.expires_at IS 'When it stops verifying (rotation); NULL while current.';
CREATE INDEX source_secrets_source ON source_secrets (source_id);
GRANT SELECT, INSERT ON source_secrets TO quittance_app;
GRANT UPDATE (expires_at) ON source_secrets TO quittance_app;
