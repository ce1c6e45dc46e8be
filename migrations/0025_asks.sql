-- Asking the provider: where the answers of a source are, who asked about which job, and what came of it.

CREATE TABLE answer_apis (
    secret_id  uuid CONSTRAINT answer_apis_pkey PRIMARY KEY,
    source_id  uuid NOT NULL REFERENCES sources,
    base_url   text NOT NULL,
    nonce      bytea NOT NULL CHECK (octet_length(nonce) = 24),
    ciphertext bytea NOT NULL CHECK (octet_length(ciphertext) > 16),
    set_at     timestamptz NOT NULL,
    removed_at timestamptz,
    -- What is sent there is a secret: https, or a program on this machine.
    CONSTRAINT answer_apis_base CHECK (
        base_url ~ '^(https://[A-Za-z0-9.:\[\]-]+|http://(127\.0\.0\.1|\[::1\]|localhost)(:[0-9]+)?)(/[A-Za-z0-9._~-]+)*$'),
    CONSTRAINT answer_apis_removed_later CHECK (removed_at >= set_at)
);
COMMENT ON TABLE answer_apis IS 'Where a source''s provider tells how a job stands when it is asked, and the token it wants, encrypted like other secrets.';
COMMENT ON COLUMN answer_apis.secret_id IS 'UUIDv7 of the token; authenticated with the ciphertext.';
COMMENT ON COLUMN answer_apis.source_id IS 'Source whose jobs it knows.';
COMMENT ON COLUMN answer_apis.base_url IS 'Address below which it is asked, without a slash at its end.';
COMMENT ON COLUMN answer_apis.nonce IS 'Random nonce of the encryption.';
COMMENT ON COLUMN answer_apis.ciphertext IS 'The bearer token, encrypted with the installation''s key.';
COMMENT ON COLUMN answer_apis.set_at IS 'When it was set.';
COMMENT ON COLUMN answer_apis.removed_at IS 'When it was removed, or another set in its place; NULL while it is in use.';
CREATE UNIQUE INDEX answer_apis_one_in_use ON answer_apis (source_id) WHERE removed_at IS NULL;
GRANT SELECT, INSERT ON answer_apis TO quittance_app;
GRANT UPDATE (removed_at) ON answer_apis TO quittance_app;

CREATE FUNCTION answer_apis_guard_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.removed_at IS NOT NULL THEN
        RAISE EXCEPTION 'answer API % was removed before', OLD.secret_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'answer_apis_removed_once';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION answer_apis_guard_removal() IS 'Refuses every change of an answer API but its one removal.';
CREATE TRIGGER answer_apis_removed_once BEFORE UPDATE ON answer_apis
    FOR EACH ROW EXECUTE FUNCTION answer_apis_guard_removal();

-- A question is written before the network is used and its answer after, so that two processes see each
-- other's, and one that died leaves a question without an answer.
CREATE TABLE asks (
    tenant_id uuid NOT NULL,
    job_id    uuid NOT NULL,
    number    integer NOT NULL CHECK (number > 0),
    source_id uuid NOT NULL REFERENCES sources,
    asked_by  uuid NOT NULL REFERENCES operators,
    asked_at  timestamptz NOT NULL,
    -- Two who ask at once take the same number, and one of them is refused.
    CONSTRAINT asks_pkey PRIMARY KEY (tenant_id, job_id, number),
    CONSTRAINT asks_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs (tenant_id, job_id)
);
COMMENT ON TABLE asks IS 'Each time a provider was asked how a job stands.';
COMMENT ON COLUMN asks.tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN asks.job_id IS 'The job.';
COMMENT ON COLUMN asks.number IS 'Counts up from 1 for each job.';
COMMENT ON COLUMN asks.source_id IS 'Whose answer API was asked.';
COMMENT ON COLUMN asks.asked_by IS 'Who asked.';
COMMENT ON COLUMN asks.asked_at IS 'When.';
SELECT make_append_only('asks');

CREATE TABLE ask_answers (
    tenant_id   uuid NOT NULL,
    job_id      uuid NOT NULL,
    number      integer NOT NULL,
    outcome     text NOT NULL CHECK (outcome IN ('running', 'ended', 'unused', 'unusable', 'unreachable', 'too_slow',
                    'too_large', 'redirected', 'not_found', 'refused', 'failed', 'not_json', 'unreadable', 'other_job',
                    'not_stored')),
    status      smallint CHECK (status BETWEEN 100 AND 999),
    event_id    bigint,
    livemode    boolean NOT NULL,
    answered_at timestamptz NOT NULL,
    CONSTRAINT ask_answers_pkey PRIMARY KEY (tenant_id, job_id, number),
    CONSTRAINT ask_answers_ask FOREIGN KEY (tenant_id, job_id, number) REFERENCES asks (tenant_id, job_id, number),
    CONSTRAINT ask_answers_event FOREIGN KEY (event_id, livemode) REFERENCES events,
    CONSTRAINT ask_answers_kept CHECK (
        (event_id IS NOT NULL) = (outcome IN ('running', 'ended', 'unused', 'unusable')))
);
COMMENT ON TABLE ask_answers IS 'What came of asking, once for each question; an answer about the job is kept as an event.';
COMMENT ON COLUMN ask_answers.tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN ask_answers.job_id IS 'The job.';
COMMENT ON COLUMN ask_answers.number IS 'The question.';
COMMENT ON COLUMN ask_answers.outcome IS 'What came of it (domain::ask::Outcome).';
COMMENT ON COLUMN ask_answers.status IS 'HTTP status of the answer; NULL when there was none.';
COMMENT ON COLUMN ask_answers.event_id IS 'The event the answer is kept as; the same answer again is the same event.';
COMMENT ON COLUMN ask_answers.livemode IS 'Mode of the source.';
COMMENT ON COLUMN ask_answers.answered_at IS 'When it was over.';
SELECT make_append_only('ask_answers');

CREATE FUNCTION asks_guard_turns() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number > 1 AND NOT EXISTS (
        SELECT FROM asks a LEFT JOIN ask_answers w USING (tenant_id, job_id, number)
        WHERE a.tenant_id = NEW.tenant_id AND a.job_id = NEW.job_id AND a.number = NEW.number - 1
          AND NEW.asked_at >= a.asked_at + CASE WHEN w.number IS NULL THEN interval '1 minute' ELSE interval '5 seconds' END
    ) THEN
        RAISE EXCEPTION 'question % about job % comes too early', NEW.number, NEW.job_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'asks_take_turns';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION asks_guard_turns() IS 'Refuses a question while the one before waits for its answer, or a moment after it (domain::ask::next).';
CREATE TRIGGER asks_take_turns BEFORE INSERT ON asks FOR EACH ROW EXECUTE FUNCTION asks_guard_turns();

ALTER TABLE deliveries ADD COLUMN asked boolean NOT NULL DEFAULT false;
ALTER TABLE deliveries ADD CONSTRAINT deliveries_asked_and_kept CHECK (NOT asked OR outcome <> 'rejected');
COMMENT ON COLUMN deliveries.asked IS 'Whether we asked for it; otherwise it was sent to us.';
COMMENT ON COLUMN deliveries.status IS 'HTTP status answered: by us to what was sent, by the provider to what we asked.';
