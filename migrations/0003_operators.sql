-- Staff, their sessions, and the durable counters that slow down guessing.

CREATE TABLE operators (
    operator_id   uuid PRIMARY KEY,
    email         text NOT NULL CHECK (email = lower(email) AND email LIKE '%_@_%'),
    name          text NOT NULL CHECK (name <> ''),
    role          text NOT NULL CHECK (role IN ('viewer', 'support', 'finance', 'admin')),
    password_hash text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
    time_zone     text NOT NULL DEFAULT 'UTC',
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    CONSTRAINT operators_email UNIQUE (email)
);
COMMENT ON TABLE operators IS 'Staff who sign in to the console.';
COMMENT ON COLUMN operators.operator_id IS 'UUIDv7.';
COMMENT ON COLUMN operators.email IS 'Sign-in name, lower case.';
COMMENT ON COLUMN operators.name IS 'Name shown beside what the operator did.';
COMMENT ON COLUMN operators.role IS 'viewer reads; support reads payloads; finance acts on money; admin sets up.';
COMMENT ON COLUMN operators.password_hash IS 'argon2id in PHC string form.';
COMMENT ON COLUMN operators.time_zone IS 'IANA name of the zone times are shown in.';
COMMENT ON COLUMN operators.created_at IS 'When the account was made.';
COMMENT ON COLUMN operators.disabled_at IS 'Since when sign-in is refused; NULL while allowed.';
GRANT SELECT, INSERT, UPDATE ON operators TO quittance_app;

CREATE TABLE sessions (
    session_hash bytea PRIMARY KEY CHECK (octet_length(session_hash) = 32),
    data         jsonb NOT NULL,
    expires_at   timestamptz NOT NULL
);
COMMENT ON TABLE sessions IS 'Signed-in browsers. The id in the cookie is hashed at rest: a leaked table opens no session.';
COMMENT ON COLUMN sessions.session_hash IS 'SHA-256 of the session id.';
COMMENT ON COLUMN sessions.data IS 'Session record (operator id, flash messages).';
COMMENT ON COLUMN sessions.expires_at IS 'After this instant the session is void and swept.';
CREATE INDEX sessions_expiry ON sessions (expires_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sessions TO quittance_app;

CREATE TABLE sign_in_failures (
    failure_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject    text NOT NULL,
    failed_at  timestamptz NOT NULL
);
COMMENT ON TABLE sign_in_failures IS 'Failed sign-ins by account and by address; counted to slow down guessing, swept after a day.';
COMMENT ON COLUMN sign_in_failures.failure_id IS 'Order of arrival.';
COMMENT ON COLUMN sign_in_failures.subject IS 'email:… or address:….';
COMMENT ON COLUMN sign_in_failures.failed_at IS 'When the attempt failed.';
CREATE INDEX sign_in_failures_recent ON sign_in_failures (subject, failed_at);
GRANT SELECT, INSERT, DELETE ON sign_in_failures TO quittance_app;
