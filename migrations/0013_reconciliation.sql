-- Reconciliation: runs, what they found wrong, and what people did about it.

CREATE TABLE reconciliation_runs (
    run_id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cause        text NOT NULL CHECK (cause IN ('scheduled', 'on_demand', 'command_line')),
    requested_by uuid REFERENCES operators,
    started_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    outcome      text NOT NULL CHECK (outcome IN ('running', 'in_order', 'exceptions', 'failed', 'abandoned')),
    jobs         bigint,
    settlements  bigint,
    transfers    bigint,
    accounts     bigint,
    lots         bigint,
    checks       integer,
    found        integer,
    opened       integer,
    closed       integer,
    CONSTRAINT reconciliation_runs_finished CHECK ((finished_at IS NULL) = (outcome = 'running')),
    CONSTRAINT reconciliation_runs_counted CHECK ((found IS NOT NULL) = (outcome IN ('in_order', 'exceptions')))
);
COMMENT ON TABLE reconciliation_runs IS 'Every time all truths about the books were checked, and what came of it.';
COMMENT ON COLUMN reconciliation_runs.run_id IS 'Order of starting.';
COMMENT ON COLUMN reconciliation_runs.cause IS 'Who wanted it: the scheduler, an operator, the command line.';
COMMENT ON COLUMN reconciliation_runs.requested_by IS 'The operator, when one did.';
COMMENT ON COLUMN reconciliation_runs.started_at IS 'When it began.';
COMMENT ON COLUMN reconciliation_runs.finished_at IS 'When it ended; NULL while it runs.';
COMMENT ON COLUMN reconciliation_runs.outcome IS 'running → in_order | exceptions | failed; abandoned when its process died.';
COMMENT ON COLUMN reconciliation_runs.jobs IS 'Jobs it looked at.';
COMMENT ON COLUMN reconciliation_runs.settlements IS 'Settlements it looked at.';
COMMENT ON COLUMN reconciliation_runs.transfers IS 'Transfers it looked at.';
COMMENT ON COLUMN reconciliation_runs.accounts IS 'Accounts it looked at.';
COMMENT ON COLUMN reconciliation_runs.lots IS 'Lots it looked at.';
COMMENT ON COLUMN reconciliation_runs.checks IS 'Truths it checked.';
COMMENT ON COLUMN reconciliation_runs.found IS 'Things it found wrong.';
COMMENT ON COLUMN reconciliation_runs.opened IS 'Those of them that were not wrong before.';
COMMENT ON COLUMN reconciliation_runs.closed IS 'Exceptions it found right again.';
GRANT SELECT, INSERT ON reconciliation_runs TO quittance_app;
GRANT UPDATE (finished_at, outcome, jobs, settlements, transfers, accounts, lots, checks, found, opened, closed)
    ON reconciliation_runs TO quittance_app;

CREATE TABLE exceptions (
    exception_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    class         text NOT NULL CHECK (class <> ''),
    subject       text NOT NULL CHECK (subject <> ''),
    tenant_id     uuid,
    expected      numeric,
    actual        numeric,
    currency      text REFERENCES currencies,
    detail        text NOT NULL,
    state         text NOT NULL CHECK (state IN ('open', 'closed')),
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,
    times_seen    integer NOT NULL CHECK (times_seen > 0),
    first_run     bigint NOT NULL REFERENCES reconciliation_runs,
    last_run      bigint NOT NULL REFERENCES reconciliation_runs,
    due_at        timestamptz NOT NULL,
    owner         uuid REFERENCES operators,
    snoozed_until timestamptz,
    closed_at     timestamptz,
    -- Found again, it is the same exception: it ages, or opens again.
    CONSTRAINT exceptions_key UNIQUE (class, subject),
    CONSTRAINT exceptions_closed CHECK ((closed_at IS NOT NULL) = (state = 'closed')),
    CONSTRAINT exceptions_seen_in_order CHECK (last_seen_at >= first_seen_at AND last_run >= first_run)
);
COMMENT ON TABLE exceptions IS 'One for each thing that is wrong, until it is right. What is wrong is never changed here.';
COMMENT ON COLUMN exceptions.exception_id IS 'Order of finding.';
COMMENT ON COLUMN exceptions.class IS 'The truth that does not hold (domain::exception::Class).';
COMMENT ON COLUMN exceptions.subject IS 'What it does not hold for.';
COMMENT ON COLUMN exceptions.tenant_id IS 'Tenant in whose books it is; NULL when in none.';
COMMENT ON COLUMN exceptions.expected IS 'The number that should be there, as last seen.';
COMMENT ON COLUMN exceptions.actual IS 'The number that is there, as last seen.';
COMMENT ON COLUMN exceptions.currency IS 'Currency of both, where they are money.';
COMMENT ON COLUMN exceptions.detail IS 'What is wrong in a line, as last seen.';
COMMENT ON COLUMN exceptions.state IS 'open → closed, and open again when it is found again.';
COMMENT ON COLUMN exceptions.first_seen_at IS 'When it was first found, since it was last closed.';
COMMENT ON COLUMN exceptions.last_seen_at IS 'When it was last found.';
COMMENT ON COLUMN exceptions.times_seen IS 'How many runs have found it.';
COMMENT ON COLUMN exceptions.first_run IS 'The run that found it first, since it was last closed.';
COMMENT ON COLUMN exceptions.last_run IS 'The last run that found it.';
COMMENT ON COLUMN exceptions.due_at IS 'By when someone should have looked at it.';
COMMENT ON COLUMN exceptions.owner IS 'Who looks after it.';
COMMENT ON COLUMN exceptions.snoozed_until IS 'It asks for nobody''s attention before this instant.';
COMMENT ON COLUMN exceptions.closed_at IS 'When a run found it right.';
CREATE INDEX exceptions_open ON exceptions (exception_id) WHERE state = 'open';
GRANT SELECT, INSERT ON exceptions TO quittance_app;
GRANT UPDATE (expected, actual, currency, detail, state, first_seen_at, last_seen_at, times_seen, first_run, last_run,
              due_at, owner, snoozed_until, closed_at) ON exceptions TO quittance_app;

CREATE TABLE exception_notes (
    note_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    exception_id bigint NOT NULL REFERENCES exceptions,
    what         text NOT NULL CHECK (what IN ('opened', 'reopened', 'closed', 'assigned', 'unassigned', 'snoozed', 'noted', 'repaired')),
    run_id       bigint REFERENCES reconciliation_runs,
    operator_id  uuid REFERENCES operators,
    form_key     uuid,
    text         text CHECK (length(text) BETWEEN 1 AND 500),
    at           timestamptz NOT NULL,
    -- A form that is sent twice is one note.
    CONSTRAINT exception_notes_form_once UNIQUE (form_key, exception_id),
    CONSTRAINT exception_notes_by_someone CHECK ((run_id IS NULL) <> (operator_id IS NULL))
);
COMMENT ON TABLE exception_notes IS 'What runs and people did about an exception, in order.';
COMMENT ON COLUMN exception_notes.note_id IS 'Order of writing.';
COMMENT ON COLUMN exception_notes.exception_id IS 'The exception.';
COMMENT ON COLUMN exception_notes.what IS 'What was done.';
COMMENT ON COLUMN exception_notes.run_id IS 'The run that did it, if one did.';
COMMENT ON COLUMN exception_notes.operator_id IS 'The operator who did it, if one did.';
COMMENT ON COLUMN exception_notes.form_key IS 'Key of the form it was sent with.';
COMMENT ON COLUMN exception_notes.text IS 'Why, or what was seen.';
COMMENT ON COLUMN exception_notes.at IS 'When.';
CREATE INDEX exception_notes_of ON exception_notes (exception_id, note_id);
SELECT make_append_only('exception_notes');
