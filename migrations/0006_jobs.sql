-- Jobs and the steps of their lives.

CREATE TABLE jobs (
    tenant_id           uuid NOT NULL,
    job_id              uuid NOT NULL,
    wallet_id           uuid NOT NULL,
    currency            text NOT NULL,
    livemode            boolean NOT NULL,
    user_id             text NOT NULL CHECK (user_id <> ''),
    client_request_id   text NOT NULL CHECK (client_request_id <> ''),
    request_hash        bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    model               text NOT NULL,
    price_version       integer NOT NULL,
    estimate            jsonb NOT NULL,
    quote               numeric(28,9) NOT NULL CHECK (quote >= 0),
    source_id           uuid REFERENCES sources,
    provider_reference  text CHECK (provider_reference <> ''),
    output_required     boolean NOT NULL DEFAULT false,
    output_reference    text,
    refund_on_failure   boolean NOT NULL,
    state               text NOT NULL CHECK (state IN ('pending', 'running', 'delivering', 'completed', 'failed', 'cancelled', 'blocked')),
    state_reason        text,
    settlement_state    text NOT NULL CHECK (settlement_state IN ('none', 'reserved', 'captured', 'released', 'adjusted', 'reversed')),
    held                numeric(28,9) NOT NULL DEFAULT 0,
    captured            numeric(28,9) NOT NULL DEFAULT 0,
    receivable          numeric(28,9) NOT NULL DEFAULT 0,
    reserve_version     integer NOT NULL DEFAULT 0 CHECK (reserve_version >= 0),
    capture_version     integer NOT NULL DEFAULT 0 CHECK (capture_version >= 0),
    release_version     integer NOT NULL DEFAULT 0 CHECK (release_version >= 0),
    adjustment_version  integer NOT NULL DEFAULT 0 CHECK (adjustment_version >= 0),
    usage_revision      integer,
    usage_occurred_at   timestamptz,
    usage_hash          bytea,
    transition_count    integer NOT NULL DEFAULT 0 CHECK (transition_count >= 0),
    cancel_requested_at timestamptz,
    submitted_at        timestamptz NOT NULL,
    state_at            timestamptz NOT NULL,
    CONSTRAINT jobs_pkey PRIMARY KEY (tenant_id, job_id),
    CONSTRAINT jobs_client_request UNIQUE (tenant_id, user_id, client_request_id),
    CONSTRAINT jobs_provider_reference UNIQUE (tenant_id, source_id, provider_reference),
    CONSTRAINT jobs_wallet FOREIGN KEY (tenant_id, wallet_id, currency, livemode)
        REFERENCES wallets (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT jobs_price FOREIGN KEY (model, currency, price_version) REFERENCES price_versions,
    CONSTRAINT jobs_held_not_negative CHECK (held >= 0),
    CONSTRAINT jobs_captured_not_negative CHECK (captured >= 0),
    CONSTRAINT jobs_receivable_within_captured CHECK (receivable BETWEEN 0 AND captured),
    CONSTRAINT jobs_hold_only_in_flight CHECK (held = 0 OR state IN ('pending', 'running')),
    CONSTRAINT jobs_blocked_holds_nothing CHECK (state <> 'blocked' OR (reserve_version = 0 AND settlement_state = 'none')),
    CONSTRAINT jobs_capture_needs_hold CHECK (capture_version <= reserve_version),
    CONSTRAINT jobs_capture_has_usage CHECK ((capture_version > 0) = (usage_occurred_at IS NOT NULL)),
    CONSTRAINT jobs_usage_whole CHECK ((usage_occurred_at IS NULL) = (usage_hash IS NULL) AND (usage_occurred_at IS NULL) = (usage_revision IS NULL)),
    CONSTRAINT jobs_reference_has_source CHECK (provider_reference IS NULL OR source_id IS NOT NULL)
) WITH (fillfactor = 80);
COMMENT ON TABLE jobs IS 'Asynchronous work with an immutable id. Money columns are projections of its settlements, written with them.';
COMMENT ON COLUMN jobs.tenant_id IS 'Tenant that pays.';
COMMENT ON COLUMN jobs.job_id IS 'UUIDv7 minted at acceptance; shown as job_….';
COMMENT ON COLUMN jobs.wallet_id IS 'Wallet that pays.';
COMMENT ON COLUMN jobs.currency IS 'Currency of the wallet and of every amount here.';
COMMENT ON COLUMN jobs.livemode IS 'Mode of the wallet.';
COMMENT ON COLUMN jobs.user_id IS 'The tenant''s own user, as the tenant names it.';
COMMENT ON COLUMN jobs.client_request_id IS 'Caller''s idempotency key: a repeat finds this job.';
COMMENT ON COLUMN jobs.request_hash IS 'SHA-256 of the canonical request; the same key with another request is refused.';
COMMENT ON COLUMN jobs.model IS 'Model that does the work.';
COMMENT ON COLUMN jobs.price_version IS 'Price frozen at submission; settlement never looks at a newer one.';
COMMENT ON COLUMN jobs.estimate IS 'Estimated usage the quote was rated from; decimals are strings.';
COMMENT ON COLUMN jobs.quote IS 'Estimate priced at submission; what the first hold reserves.';
COMMENT ON COLUMN jobs.source_id IS 'Source whose events speak of this job.';
COMMENT ON COLUMN jobs.provider_reference IS 'The provider''s id of the work; set once, when the job is dispatched.';
COMMENT ON COLUMN jobs.output_required IS 'Whether completion waits for a stored output.';
COMMENT ON COLUMN jobs.output_reference IS 'Where the stored output is; set once.';
COMMENT ON COLUMN jobs.refund_on_failure IS 'Refund eligibility frozen at submission.';
COMMENT ON COLUMN jobs.state IS 'Lifecycle state; a terminal state never moves back, except that a late success overrules a failure.';
COMMENT ON COLUMN jobs.state_reason IS 'Why it failed, was cancelled or blocked.';
COMMENT ON COLUMN jobs.settlement_state IS 'Derived from the settlements by domain::job::SettlementState.';
COMMENT ON COLUMN jobs.held IS 'Still on hold.';
COMMENT ON COLUMN jobs.captured IS 'Net charged: capture plus and minus adjustments.';
COMMENT ON COLUMN jobs.receivable IS 'Part of captured that is booked as owed.';
COMMENT ON COLUMN jobs.reserve_version IS 'Version of the newest reserve settlement; 0 before the first.';
COMMENT ON COLUMN jobs.capture_version IS 'Version of the newest capture settlement.';
COMMENT ON COLUMN jobs.release_version IS 'Version of the newest release settlement.';
COMMENT ON COLUMN jobs.adjustment_version IS 'Version of the newest adjustment settlement.';
COMMENT ON COLUMN jobs.usage_revision IS 'Revision of the usage that is billed now.';
COMMENT ON COLUMN jobs.usage_occurred_at IS 'When the billed usage occurred, by the provider''s clock.';
COMMENT ON COLUMN jobs.usage_hash IS 'Hash of the billed usage; decides ties and recognises repeats.';
COMMENT ON COLUMN jobs.transition_count IS 'Rows in job_transitions; the next one''s number.';
COMMENT ON COLUMN jobs.cancel_requested_at IS 'When the customer''s cancel request was accepted.';
COMMENT ON COLUMN jobs.submitted_at IS 'When the job was accepted.';
COMMENT ON COLUMN jobs.state_at IS 'When it entered its state.';
CREATE INDEX jobs_by_id ON jobs (job_id);
CREATE INDEX jobs_by_reference ON jobs (source_id, provider_reference) WHERE provider_reference IS NOT NULL;
CREATE INDEX jobs_by_client_request ON jobs (client_request_id);
CREATE INDEX jobs_in_flight ON jobs (tenant_id, job_id) WHERE state IN ('pending', 'running');
CREATE INDEX jobs_by_wallet ON jobs (tenant_id, wallet_id, job_id);
GRANT SELECT, INSERT, UPDATE ON jobs TO quittance_app;

-- A terminal state never moves back (the same table as domain::job::State::may_become).
CREATE FUNCTION jobs_guard_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (
        ('pending', 'running'), ('pending', 'delivering'), ('pending', 'completed'), ('pending', 'failed'), ('pending', 'cancelled'),
        ('running', 'delivering'), ('running', 'completed'), ('running', 'failed'), ('running', 'cancelled'),
        ('delivering', 'completed'),
        ('failed', 'delivering'), ('failed', 'completed'), ('cancelled', 'delivering'), ('cancelled', 'completed')
    ) THEN
        RAISE EXCEPTION 'job % cannot move from % to %', OLD.job_id, OLD.state, NEW.state
            USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_transition';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION jobs_guard_transition() IS 'Refuses a state change that the transition table of the domain does not have.';
CREATE TRIGGER jobs_transition BEFORE UPDATE OF state ON jobs
    FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION jobs_guard_transition();

CREATE FUNCTION jobs_guard_identity() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'job %: its identity, price and quote never change', OLD.job_id
        USING ERRCODE = 'check_violation', CONSTRAINT = 'jobs_identity';
END
$$;
COMMENT ON FUNCTION jobs_guard_identity() IS 'Refuses a change of what was frozen when the job was accepted.';
CREATE TRIGGER jobs_identity BEFORE UPDATE ON jobs FOR EACH ROW
    WHEN ((OLD.tenant_id, OLD.job_id, OLD.wallet_id, OLD.currency, OLD.livemode, OLD.user_id, OLD.client_request_id,
           OLD.request_hash, OLD.model, OLD.price_version, OLD.estimate, OLD.quote, OLD.refund_on_failure, OLD.submitted_at)
          IS DISTINCT FROM
          (NEW.tenant_id, NEW.job_id, NEW.wallet_id, NEW.currency, NEW.livemode, NEW.user_id, NEW.client_request_id,
           NEW.request_hash, NEW.model, NEW.price_version, NEW.estimate, NEW.quote, NEW.refund_on_failure, NEW.submitted_at)
          OR (OLD.provider_reference IS NOT NULL AND OLD.provider_reference IS DISTINCT FROM NEW.provider_reference)
          OR (OLD.output_reference IS NOT NULL AND OLD.output_reference IS DISTINCT FROM NEW.output_reference))
    EXECUTE FUNCTION jobs_guard_identity();

CREATE TABLE job_transitions (
    tenant_id  uuid NOT NULL,
    job_id     uuid NOT NULL,
    number     integer NOT NULL CHECK (number > 0),
    from_state text,
    to_state   text NOT NULL,
    cause      text NOT NULL CHECK (cause IN ('submit', 'attach', 'cancel', 'event', 'output', 'operator')),
    event_id   bigint,
    detail     text,
    at         timestamptz NOT NULL,
    CONSTRAINT job_transitions_pkey PRIMARY KEY (tenant_id, job_id, number),
    CONSTRAINT job_transitions_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs,
    CONSTRAINT job_transitions_event_named CHECK ((cause = 'event') = (event_id IS NOT NULL))
);
COMMENT ON TABLE job_transitions IS 'Every change of a job''s state, and what caused it.';
COMMENT ON COLUMN job_transitions.tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN job_transitions.job_id IS 'The job.';
COMMENT ON COLUMN job_transitions.number IS 'Counts up from 1 within the job.';
COMMENT ON COLUMN job_transitions.from_state IS 'State before; NULL for the first.';
COMMENT ON COLUMN job_transitions.to_state IS 'State after.';
COMMENT ON COLUMN job_transitions.cause IS 'What moved it.';
COMMENT ON COLUMN job_transitions.event_id IS 'The event, when one moved it.';
COMMENT ON COLUMN job_transitions.detail IS 'Reason or reference, for people.';
COMMENT ON COLUMN job_transitions.at IS 'When it was written.';
SELECT make_append_only('job_transitions');
