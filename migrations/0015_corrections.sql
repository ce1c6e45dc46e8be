-- What people correct about jobs: adjustments, reversals, and holds that are given up.

ALTER TABLE jobs
    ADD COLUMN due              numeric(28,9) NOT NULL DEFAULT 0 CHECK (due >= 0),
    ADD COLUMN correction       numeric(28,9) NOT NULL DEFAULT 0,
    ADD COLUMN reversed         boolean NOT NULL DEFAULT false,
    ADD COLUMN reversal_version integer NOT NULL DEFAULT 0 CHECK (reversal_version >= 0);
UPDATE jobs SET due = captured WHERE captured <> 0;
-- The same sum as domain::job::Correction::of.
ALTER TABLE jobs ADD CONSTRAINT jobs_charge
    CHECK (captured = CASE WHEN reversed THEN 0 ELSE greatest(due + correction, 0) END);
COMMENT ON COLUMN jobs.due IS 'What the billed usage comes to by the tenant''s policy, before anyone corrects it.';
COMMENT ON COLUMN jobs.correction IS 'Adjustments by people in force, added up: above zero they charge, below they give back.';
COMMENT ON COLUMN jobs.reversed IS 'Whether the whole charge is reversed; usage corrected later then charges nothing.';
COMMENT ON COLUMN jobs.reversal_version IS 'Version of the newest reversal settlement.';

ALTER TABLE actions ADD COLUMN job_id uuid;
ALTER TABLE actions ADD COLUMN undoes uuid;
COMMENT ON COLUMN actions.job_id IS 'The job it corrects, for actions on jobs.';
COMMENT ON COLUMN actions.undoes IS 'The settlement it takes back.';
ALTER TABLE actions ADD CONSTRAINT actions_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs (tenant_id, job_id);
ALTER TABLE actions ADD CONSTRAINT actions_undoes FOREIGN KEY (tenant_id, undoes) REFERENCES settlements (tenant_id, settlement_id);
ALTER TABLE actions DROP CONSTRAINT actions_action_check;
ALTER TABLE actions ADD CONSTRAINT actions_action_check
    CHECK (action IN ('goodwill', 'freeze', 'unfreeze', 'charge', 'credit', 'reverse', 'undo', 'release'));
ALTER TABLE actions DROP CONSTRAINT actions_amount;
ALTER TABLE actions ADD CONSTRAINT actions_amount
    CHECK ((amount IS NOT NULL) = (action IN ('goodwill', 'charge', 'credit')));
ALTER TABLE actions ADD CONSTRAINT actions_job_named
    CHECK ((job_id IS NOT NULL) = (action IN ('charge', 'credit', 'reverse', 'undo', 'release')));
ALTER TABLE actions ADD CONSTRAINT actions_undo_named CHECK ((undoes IS NOT NULL) = (action = 'undo'));
ALTER TABLE actions DROP CONSTRAINT actions_goodwill_settles;
ALTER TABLE actions ADD CONSTRAINT actions_settles
    CHECK ((settlement_id IS NOT NULL) = (state = 'done' AND action NOT IN ('freeze', 'unfreeze')));
CREATE INDEX actions_by_job ON actions (tenant_id, job_id, action_id) WHERE job_id IS NOT NULL;

ALTER TABLE approval_thresholds DROP CONSTRAINT approval_thresholds_action_check;
ALTER TABLE approval_thresholds ADD CONSTRAINT approval_thresholds_action_check
    CHECK (action IN ('goodwill', 'charge', 'credit', 'reverse', 'undo'));

CREATE TABLE job_corrections (
    tenant_id     uuid NOT NULL,
    settlement_id uuid NOT NULL,
    job_id        uuid NOT NULL,
    action_id     uuid NOT NULL,
    net           numeric(28,9),
    reversed      boolean,
    undoes        uuid,
    CONSTRAINT job_corrections_pkey PRIMARY KEY (tenant_id, settlement_id),
    CONSTRAINT job_corrections_settlement FOREIGN KEY (tenant_id, settlement_id) REFERENCES settlements (tenant_id, settlement_id),
    CONSTRAINT job_corrections_job FOREIGN KEY (tenant_id, job_id) REFERENCES jobs (tenant_id, job_id),
    CONSTRAINT job_corrections_action FOREIGN KEY (tenant_id, action_id) REFERENCES actions (tenant_id, action_id),
    CONSTRAINT job_corrections_of_an_action UNIQUE (tenant_id, action_id),
    CONSTRAINT job_corrections_undoes FOREIGN KEY (tenant_id, undoes) REFERENCES job_corrections (tenant_id, settlement_id),
    -- A correction is taken back at most once; to have it again, its reversal is taken back in turn.
    CONSTRAINT job_corrections_undone_once UNIQUE (tenant_id, undoes),
    CONSTRAINT job_corrections_one_kind CHECK ((net IS NULL) <> (reversed IS NULL))
);
COMMENT ON TABLE job_corrections IS 'What each correction by a person changed about its job''s charge; jobs.correction and jobs.reversed are their result.';
COMMENT ON COLUMN job_corrections.tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN job_corrections.settlement_id IS 'The settlement that posted it.';
COMMENT ON COLUMN job_corrections.job_id IS 'The job.';
COMMENT ON COLUMN job_corrections.action_id IS 'The action that asked for it.';
COMMENT ON COLUMN job_corrections.net IS 'Change of jobs.correction; NULL when the whole charge was reversed or reinstated.';
COMMENT ON COLUMN job_corrections.reversed IS 'Whether the whole charge is reversed from here on; NULL for an adjustment.';
COMMENT ON COLUMN job_corrections.undoes IS 'The correction it takes back.';
CREATE INDEX job_corrections_of_job ON job_corrections (tenant_id, job_id);
SELECT make_append_only('job_corrections');

-- Of two contents under one key the other may be the right one: then an adjustment brings the charge to it,
-- and decides the case in the same transaction.
ALTER TABLE actions ADD COLUMN conflict_id bigint REFERENCES conflicts;
COMMENT ON COLUMN actions.conflict_id IS 'The content it takes for the right one, instead of what came first.';
ALTER TABLE actions ADD CONSTRAINT actions_conflict_is_adjusted
    CHECK (conflict_id IS NULL OR action IN ('charge', 'credit'));
ALTER TABLE case_decisions DROP CONSTRAINT case_decisions_decision_check;
ALTER TABLE case_decisions ADD CONSTRAINT case_decisions_decision_check
    CHECK (decision IN ('keep_first', 'accept_other', 'dismiss', 'replay'));
ALTER TABLE case_decisions DROP CONSTRAINT case_decisions_about_conflict;
ALTER TABLE case_decisions ADD CONSTRAINT case_decisions_about_conflict
    CHECK ((conflict_id IS NOT NULL) = (decision IN ('keep_first', 'accept_other')));
COMMENT ON COLUMN case_decisions.conflict_id IS 'The other content, for keep_first and accept_other.';
COMMENT ON COLUMN case_decisions.decision IS 'keep_first: what came first stands. accept_other: an adjustment brought the charge to the other content. dismiss: the event changes nothing. replay: it is looked at again under its own identity.';

-- Jobs whose verdict is overdue, oldest first.
CREATE INDEX jobs_in_flight_by_age ON jobs (job_id) WHERE state IN ('pending', 'running');
