-- What people did.

CREATE TABLE audit_log (
    audit_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at          timestamptz NOT NULL,
    operator_id uuid REFERENCES operators,
    actor       text NOT NULL,
    request_id  text,
    action      text NOT NULL,
    object      text NOT NULL,
    detail      jsonb NOT NULL DEFAULT '{}',
    reason      text
);
COMMENT ON TABLE audit_log IS 'Who did what to which object, when and why.';
COMMENT ON COLUMN audit_log.audit_id IS 'Order of writing.';
COMMENT ON COLUMN audit_log.at IS 'When.';
COMMENT ON COLUMN audit_log.operator_id IS 'Who; NULL for the command line and the system.';
COMMENT ON COLUMN audit_log.actor IS 'Who, in words that outlive the account.';
COMMENT ON COLUMN audit_log.request_id IS 'The request it was done in.';
COMMENT ON COLUMN audit_log.action IS 'What, as noun.verb: session.open, source.add, payload.read.';
COMMENT ON COLUMN audit_log.object IS 'To which object.';
COMMENT ON COLUMN audit_log.detail IS 'Before and after, or whatever explains it.';
COMMENT ON COLUMN audit_log.reason IS 'Why, in the operator''s words.';
SELECT make_append_only('audit_log');
