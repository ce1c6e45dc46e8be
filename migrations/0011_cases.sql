-- What people decided about events that a machine cannot decide on.

CREATE TABLE case_decisions (
    decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id    bigint NOT NULL,
    livemode    boolean NOT NULL,
    conflict_id bigint REFERENCES conflicts,
    decision    text NOT NULL CHECK (decision IN ('keep_first', 'dismiss', 'replay')),
    reason      text NOT NULL CHECK (length(reason) BETWEEN 10 AND 500),
    decided_by  uuid NOT NULL REFERENCES operators,
    decided_at  timestamptz NOT NULL,
    CONSTRAINT case_decisions_event FOREIGN KEY (event_id, livemode) REFERENCES events,
    -- Two people on one conflict: the first decides, the other is told.
    CONSTRAINT case_decisions_conflict_once UNIQUE (conflict_id),
    CONSTRAINT case_decisions_about_conflict CHECK ((conflict_id IS NOT NULL) = (decision = 'keep_first'))
);
COMMENT ON TABLE case_decisions IS 'Decisions on conflicts and on events that could not be used. The events themselves stay as they came.';
COMMENT ON COLUMN case_decisions.decision_id IS 'Order of deciding.';
COMMENT ON COLUMN case_decisions.event_id IS 'The event.';
COMMENT ON COLUMN case_decisions.livemode IS 'Its mode.';
COMMENT ON COLUMN case_decisions.conflict_id IS 'The other content, for keep_first.';
COMMENT ON COLUMN case_decisions.decision IS 'keep_first: what came first stands. dismiss: the event changes nothing. replay: it is looked at again under its own identity.';
COMMENT ON COLUMN case_decisions.reason IS 'Why, in the operator''s words.';
COMMENT ON COLUMN case_decisions.decided_by IS 'Who.';
COMMENT ON COLUMN case_decisions.decided_at IS 'When.';
CREATE INDEX case_decisions_by_event ON case_decisions (event_id, decision_id);
SELECT make_append_only('case_decisions');

CREATE VIEW open_conflicts AS
    SELECT c.* FROM conflicts c
    WHERE NOT EXISTS (SELECT FROM case_decisions d WHERE d.conflict_id = c.conflict_id);
COMMENT ON VIEW open_conflicts IS 'Conflicts that nobody has decided on.';
GRANT SELECT ON open_conflicts TO quittance_app;
