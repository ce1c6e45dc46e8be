-- Tasks: one decision about many things, frozen as they were chosen, carried out in the background.

CREATE TABLE tasks (
    task_id    uuid PRIMARY KEY,
    kind       text NOT NULL CHECK (kind IN ('replay', 'repair')),
    livemode   boolean NOT NULL,
    chosen     text NOT NULL CHECK (length(chosen) <= 1000),
    state      text NOT NULL CHECK (state IN ('draft', 'running', 'done', 'cancelled')),
    reason     text CHECK (length(reason) BETWEEN 10 AND 500),
    made_by    uuid NOT NULL REFERENCES operators,
    made_at    timestamptz NOT NULL,
    started_by uuid REFERENCES operators,
    started_at timestamptz,
    ended_at   timestamptz,
    CONSTRAINT tasks_started CHECK ((started_at IS NULL) = (started_by IS NULL) AND (started_at IS NULL) = (reason IS NULL)),
    CONSTRAINT tasks_running_was_started CHECK (state NOT IN ('running', 'done') OR started_at IS NOT NULL),
    CONSTRAINT tasks_ended CHECK ((ended_at IS NOT NULL) = (state IN ('done', 'cancelled')))
);
COMMENT ON TABLE tasks IS 'One decision about many things.';
COMMENT ON COLUMN tasks.task_id IS 'Minted with the form it was asked for by.';
COMMENT ON COLUMN tasks.kind IS 'replay: events are looked at again; repair: what exceptions are about is put right.';
COMMENT ON COLUMN tasks.livemode IS 'Mode of the page it was asked for on.';
COMMENT ON COLUMN tasks.chosen IS 'The filter that chose its things, or how many were chosen by hand.';
COMMENT ON COLUMN tasks.state IS 'draft → running | cancelled; running → done | cancelled.';
COMMENT ON COLUMN tasks.reason IS 'Why, once it was started.';
COMMENT ON COLUMN tasks.made_by IS 'Who chose the things.';
COMMENT ON COLUMN tasks.made_at IS 'When they were frozen and rehearsed.';
COMMENT ON COLUMN tasks.started_by IS 'Who started it.';
COMMENT ON COLUMN tasks.started_at IS 'When.';
COMMENT ON COLUMN tasks.ended_at IS 'When its last thing had an outcome, or when it was stopped.';
CREATE INDEX tasks_running ON tasks (task_id) WHERE state = 'running';

CREATE TABLE task_items (
    task_id  uuid NOT NULL REFERENCES tasks,
    number   integer NOT NULL CHECK (number > 0),
    subject  bigint NOT NULL,
    promise  text NOT NULL CHECK (promise IN ('posts', 'changes', 'nothing', 'cannot')),
    promised text NOT NULL,
    amount   numeric(28,9),
    currency text REFERENCES currencies,
    outcome  text CHECK (outcome IN ('done', 'refused')),
    told     text,
    at       timestamptz,
    CONSTRAINT task_items_pkey PRIMARY KEY (task_id, number),
    -- A thing is in a task once, so it is done once.
    CONSTRAINT task_items_once UNIQUE (task_id, subject),
    CONSTRAINT task_items_told CHECK ((outcome IS NULL) = (at IS NULL) AND (outcome = 'refused') = (told IS NOT NULL)),
    CONSTRAINT task_items_money CHECK ((amount IS NULL) = (currency IS NULL))
);
COMMENT ON TABLE task_items IS 'The things of a task, what its rehearsal promised, and what came of them.';
COMMENT ON COLUMN task_items.task_id IS 'Task.';
COMMENT ON COLUMN task_items.number IS 'Order of doing.';
COMMENT ON COLUMN task_items.subject IS 'Event of a replay, exception of a repair.';
COMMENT ON COLUMN task_items.promise IS 'What the rehearsal came to.';
COMMENT ON COLUMN task_items.promised IS 'The same in a line, with its entries.';
COMMENT ON COLUMN task_items.amount IS 'What would be charged more, or less when negative.';
COMMENT ON COLUMN task_items.currency IS 'Its currency.';
COMMENT ON COLUMN task_items.outcome IS 'What came of it; NULL while it is to be done.';
COMMENT ON COLUMN task_items.told IS 'Why it was refused.';
COMMENT ON COLUMN task_items.at IS 'When it was done or refused.';
CREATE INDEX task_items_to_do ON task_items (task_id, number) WHERE outcome IS NULL;

GRANT SELECT, INSERT ON tasks, task_items TO quittance_app;
GRANT UPDATE (state, reason, started_by, started_at, ended_at) ON tasks TO quittance_app;
GRANT UPDATE (outcome, told, at) ON task_items TO quittance_app;

CREATE FUNCTION tasks_guard_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (
        ('draft', 'running'), ('draft', 'cancelled'), ('running', 'done'), ('running', 'cancelled')
    ) THEN
        RAISE EXCEPTION 'task % cannot go from % to %', OLD.task_id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'tasks_transition';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION tasks_guard_transition() IS 'Refuses every change of a task that is not a step of its life.';
CREATE TRIGGER tasks_transition BEFORE UPDATE ON tasks FOR EACH ROW EXECUTE FUNCTION tasks_guard_transition();

CREATE FUNCTION task_items_guard_outcome() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.outcome IS NOT NULL THEN
        RAISE EXCEPTION 'item % of task % has its outcome', OLD.number, OLD.task_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'task_items_outcome_once';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION task_items_guard_outcome() IS 'An outcome stands.';
CREATE TRIGGER task_items_outcome_once BEFORE UPDATE ON task_items FOR EACH ROW EXECUTE FUNCTION task_items_guard_outcome();
