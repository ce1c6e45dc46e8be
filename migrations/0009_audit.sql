-- What people did, as a chain of hashes.

CREATE TABLE audit_log (
    audit_id      bigint PRIMARY KEY CHECK (audit_id > 0),
    at            timestamptz NOT NULL,
    operator_id   uuid REFERENCES operators,
    actor         text NOT NULL,
    request_id    text,
    action        text NOT NULL,
    object        text NOT NULL,
    detail        jsonb NOT NULL DEFAULT '{}',
    reason        text,
    previous_hash bytea NOT NULL CHECK (octet_length(previous_hash) = 32),
    hash          bytea NOT NULL CHECK (octet_length(hash) = 32),
    CONSTRAINT audit_log_hash UNIQUE (hash),
    -- Nothing follows a line twice, so the chain cannot fork.
    CONSTRAINT audit_log_chain UNIQUE (previous_hash)
);
COMMENT ON TABLE audit_log IS 'Who did what to which object, when and why. Each line is hashed together with the hash before it (domain::audit).';
COMMENT ON COLUMN audit_log.audit_id IS 'Order of writing, from 1 without gaps.';
COMMENT ON COLUMN audit_log.at IS 'When.';
COMMENT ON COLUMN audit_log.operator_id IS 'Who; NULL for the command line and the system.';
COMMENT ON COLUMN audit_log.actor IS 'Who, in words that outlive the account.';
COMMENT ON COLUMN audit_log.request_id IS 'The request it was done in.';
COMMENT ON COLUMN audit_log.action IS 'What, as noun.verb: session.open, source.add, payload.read.';
COMMENT ON COLUMN audit_log.object IS 'To which object.';
COMMENT ON COLUMN audit_log.detail IS 'Before and after, or whatever explains it.';
COMMENT ON COLUMN audit_log.reason IS 'Why, in the operator''s words.';
COMMENT ON COLUMN audit_log.previous_hash IS 'Hash of the line before; zeros before the first.';
COMMENT ON COLUMN audit_log.hash IS 'SHA-256 over this line and previous_hash.';
CREATE INDEX audit_log_by_object ON audit_log (object, audit_id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, audit_id);
SELECT make_append_only('audit_log');
