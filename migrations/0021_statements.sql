-- Statements: what providers say they did or billed, held against our validated usage.

ALTER TABLE sources ADD CONSTRAINT sources_mode UNIQUE (source_id, livemode);

CREATE TABLE statements (
    statement_id       uuid NOT NULL,
    number             bigint GENERATED ALWAYS AS IDENTITY,
    source_id          uuid NOT NULL,
    livemode           boolean NOT NULL,
    period_from        date NOT NULL,
    period_to          date NOT NULL,
    absolute_tolerance numeric NOT NULL CHECK (absolute_tolerance >= 0),
    relative_tolerance numeric NOT NULL CHECK (relative_tolerance BETWEEN 0 AND 1),
    file_name          text NOT NULL CHECK (length(file_name) BETWEEN 1 AND 200),
    file_hash          bytea NOT NULL CHECK (octet_length(file_hash) = 32),
    accepted           boolean NOT NULL,
    lines              bigint NOT NULL CHECK (lines >= 0),
    errors             bigint NOT NULL CHECK (errors >= 0),
    uploaded_by        uuid REFERENCES operators,
    uploaded_at        timestamptz NOT NULL,
    CONSTRAINT statements_pkey PRIMARY KEY (statement_id),
    CONSTRAINT statements_number UNIQUE (number),
    -- What a line refers to, so that a refused statement can have none.
    CONSTRAINT statements_accepted UNIQUE (statement_id, accepted),
    CONSTRAINT statements_source FOREIGN KEY (source_id, livemode) REFERENCES sources (source_id, livemode),
    -- The same file on the same terms is the same statement.
    CONSTRAINT statements_once UNIQUE (source_id, file_hash, period_from, period_to, absolute_tolerance, relative_tolerance),
    CONSTRAINT statements_period CHECK (period_from < period_to),
    CONSTRAINT statements_refused_for_errors CHECK (accepted = (errors = 0)),
    CONSTRAINT statements_say_something CHECK (NOT accepted OR lines > 0)
);
COMMENT ON TABLE statements IS 'What a provider says it did or billed in a period. Of one source and period the newest accepted one counts.';
COMMENT ON COLUMN statements.statement_id IS 'Key minted with the form or the command (UUIDv7): sending it twice is one statement.';
COMMENT ON COLUMN statements.number IS 'Order of storing.';
COMMENT ON COLUMN statements.source_id IS 'Whose statement it is.';
COMMENT ON COLUMN statements.livemode IS 'Mode of the source.';
COMMENT ON COLUMN statements.period_from IS 'First day of the period, UTC.';
COMMENT ON COLUMN statements.period_to IS 'The day after its last, UTC.';
COMMENT ON COLUMN statements.absolute_tolerance IS 'Units by which a group may differ.';
COMMENT ON COLUMN statements.relative_tolerance IS 'Share of the larger side by which a group may differ: 0.01 is one in a hundred.';
COMMENT ON COLUMN statements.file_name IS 'Name of the file, as it was given.';
COMMENT ON COLUMN statements.file_hash IS 'SHA-256 of the file.';
COMMENT ON COLUMN statements.accepted IS 'Whether it counts; false when a line was wrong, and then none counts.';
COMMENT ON COLUMN statements.lines IS 'Lines that were read, wrong ones included.';
COMMENT ON COLUMN statements.errors IS 'Errors that were found; the first of them are kept.';
COMMENT ON COLUMN statements.uploaded_by IS 'The operator; NULL for the command line.';
COMMENT ON COLUMN statements.uploaded_at IS 'When it was stored.';
SELECT make_append_only('statements');

CREATE TABLE statement_lines (
    statement_id uuid NOT NULL,
    accepted     boolean NOT NULL DEFAULT true CHECK (accepted),
    line         bigint NOT NULL CHECK (line > 0),
    identity     bytea NOT NULL CHECK (octet_length(identity) = 32),
    reference    text CHECK (reference <> ''),
    job_id       uuid,
    meter        text NOT NULL CHECK (meter <> ''),
    quantity     numeric NOT NULL CHECK (quantity >= 0 AND quantity < 1e18 AND scale(quantity) <= 18),
    amount       numeric CHECK (amount >= 0 AND amount < 1e18 AND scale(amount) <= 18),
    currency     text REFERENCES currencies,
    occurred_at  timestamptz,
    CONSTRAINT statement_lines_pkey PRIMARY KEY (statement_id, line),
    -- A line that is there twice would be counted twice.
    CONSTRAINT statement_lines_once UNIQUE (statement_id, identity),
    -- Lines are stored while their file is read, and their statement when it was read to its end.
    CONSTRAINT statement_lines_accepted FOREIGN KEY (statement_id, accepted)
        REFERENCES statements (statement_id, accepted) DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT statement_lines_about_one CHECK ((reference IS NULL) <> (job_id IS NULL)),
    CONSTRAINT statement_lines_amount_whole CHECK ((amount IS NULL) = (currency IS NULL))
);
COMMENT ON TABLE statement_lines IS 'The lines of accepted statements, as the provider wrote them.';
COMMENT ON COLUMN statement_lines.statement_id IS 'The statement.';
COMMENT ON COLUMN statement_lines.accepted IS 'Always true: a refused statement has no lines.';
COMMENT ON COLUMN statement_lines.line IS 'Where it stands in the file: line, or place in the array.';
COMMENT ON COLUMN statement_lines.identity IS 'SHA-256 of what makes it this line (domain::statement::Line::identity).';
COMMENT ON COLUMN statement_lines.reference IS 'The provider''s reference of the work.';
COMMENT ON COLUMN statement_lines.job_id IS 'Our job, where the line names it instead.';
COMMENT ON COLUMN statement_lines.meter IS 'What was counted.';
COMMENT ON COLUMN statement_lines.quantity IS 'How much of it.';
COMMENT ON COLUMN statement_lines.amount IS 'What the provider charges for it.';
COMMENT ON COLUMN statement_lines.currency IS 'Currency of the amount.';
COMMENT ON COLUMN statement_lines.occurred_at IS 'When, by the provider''s clock.';
SELECT make_append_only('statement_lines');

CREATE TABLE statement_errors (
    statement_id uuid NOT NULL REFERENCES statements,
    position     integer NOT NULL CHECK (position > 0),
    line         bigint NOT NULL CHECK (line > 0),
    field        text,
    problem      text NOT NULL CHECK (problem <> ''),
    CONSTRAINT statement_errors_pkey PRIMARY KEY (statement_id, position)
);
COMMENT ON TABLE statement_errors IS 'Why statements were refused: the first errors of each.';
COMMENT ON COLUMN statement_errors.statement_id IS 'The statement.';
COMMENT ON COLUMN statement_errors.position IS 'Order in the file.';
COMMENT ON COLUMN statement_errors.line IS 'Line of the file, or place in the array.';
COMMENT ON COLUMN statement_errors.field IS 'Which field, where it is about one.';
COMMENT ON COLUMN statement_errors.problem IS 'What is wrong and what to do.';
SELECT make_append_only('statement_errors');

-- What the last check came to: written anew by each, and wholly made from lines, jobs and settlements.
CREATE TABLE statement_checks (
    statement_id          uuid NOT NULL REFERENCES statements,
    checked_at            timestamptz NOT NULL,
    matched               bigint NOT NULL,
    within_tolerance      bigint NOT NULL,
    differs               bigint NOT NULL,
    missing_with_us       bigint NOT NULL,
    missing_with_provider bigint NOT NULL,
    timing                bigint NOT NULL,
    CONSTRAINT statement_checks_pkey PRIMARY KEY (statement_id)
);
COMMENT ON TABLE statement_checks IS 'Projection: how many groups of a statement came to which outcome, when it was last checked.';
COMMENT ON COLUMN statement_checks.statement_id IS 'The statement.';
COMMENT ON COLUMN statement_checks.checked_at IS 'When.';
COMMENT ON COLUMN statement_checks.matched IS 'Groups where both sides are equal.';
COMMENT ON COLUMN statement_checks.within_tolerance IS 'Groups that differ by no more than was allowed.';
COMMENT ON COLUMN statement_checks.differs IS 'Groups that differ by more.';
COMMENT ON COLUMN statement_checks.missing_with_us IS 'Groups of which we have no usage.';
COMMENT ON COLUMN statement_checks.missing_with_provider IS 'Groups the provider does not state.';
COMMENT ON COLUMN statement_checks.timing IS 'Groups that are on their way.';
GRANT SELECT, INSERT, UPDATE ON statement_checks TO quittance_app;

CREATE TABLE statement_groups (
    statement_id  uuid NOT NULL REFERENCES statements,
    position      bigint NOT NULL CHECK (position > 0),
    reference     text NOT NULL,
    meter         text NOT NULL,
    outcome       text NOT NULL CHECK (outcome IN ('within_tolerance', 'differs', 'missing_with_us', 'missing_with_provider', 'timing')),
    ours          numeric,
    theirs        numeric,
    job_tenant_id uuid,
    job_id        uuid,
    CONSTRAINT statement_groups_pkey PRIMARY KEY (statement_id, position),
    CONSTRAINT statement_groups_key UNIQUE (statement_id, reference, meter),
    CONSTRAINT statement_groups_job FOREIGN KEY (job_tenant_id, job_id) REFERENCES jobs (tenant_id, job_id)
);
COMMENT ON TABLE statement_groups IS 'Projection: the groups of a statement that did not match when it was last checked.';
COMMENT ON COLUMN statement_groups.statement_id IS 'The statement.';
COMMENT ON COLUMN statement_groups.position IS 'Order by reference and meter.';
COMMENT ON COLUMN statement_groups.reference IS 'The provider''s reference, or our job id where there is none.';
COMMENT ON COLUMN statement_groups.meter IS 'What was counted.';
COMMENT ON COLUMN statement_groups.outcome IS 'What the two sides came to (domain::statement::Outcome).';
COMMENT ON COLUMN statement_groups.ours IS 'Our usage in the period; NULL when there is none.';
COMMENT ON COLUMN statement_groups.theirs IS 'Sum of the provider''s lines; NULL when there is none.';
COMMENT ON COLUMN statement_groups.job_tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN statement_groups.job_id IS 'The job, or the first of several.';
GRANT SELECT, INSERT, DELETE ON statement_groups TO quittance_app;
