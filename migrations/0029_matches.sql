-- Matches: what people have decided belongs together though the two sides name it differently. A match is of a
-- source and period, so that it holds for the statement that corrects another.

ALTER TABLE statements ADD CONSTRAINT statements_of_period UNIQUE (statement_id, source_id, livemode, period_from, period_to);

CREATE TABLE statement_matches (
    match_id     uuid NOT NULL,
    statement_id uuid NOT NULL,
    source_id    uuid NOT NULL,
    livemode     boolean NOT NULL,
    period_from  date NOT NULL,
    period_to    date NOT NULL,
    meter        text NOT NULL CHECK (meter <> ''),
    reason       text NOT NULL CHECK (length(reason) BETWEEN 10 AND 500),
    matched_by   uuid NOT NULL REFERENCES operators,
    matched_at   timestamptz NOT NULL,
    written_in   bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT statement_matches_pkey PRIMARY KEY (match_id),
    -- What a part refers to, so that all of them are of one meter.
    CONSTRAINT statement_matches_meter UNIQUE (match_id, meter),
    CONSTRAINT statement_matches_statement FOREIGN KEY (statement_id, source_id, livemode, period_from, period_to)
        REFERENCES statements (statement_id, source_id, livemode, period_from, period_to)
);
COMMENT ON TABLE statement_matches IS 'Groups of both sides that a person has decided are one.';
COMMENT ON COLUMN statement_matches.match_id IS 'Key minted with the form (UUIDv7): sending it twice is one match.';
COMMENT ON COLUMN statement_matches.statement_id IS 'The statement it was seen in.';
COMMENT ON COLUMN statement_matches.source_id IS 'Whose statements it is about.';
COMMENT ON COLUMN statement_matches.livemode IS 'Mode of the source.';
COMMENT ON COLUMN statement_matches.period_from IS 'First day of the period whose statements it is about, UTC.';
COMMENT ON COLUMN statement_matches.period_to IS 'The day after its last, UTC.';
COMMENT ON COLUMN statement_matches.meter IS 'What was counted: a match is within one meter.';
COMMENT ON COLUMN statement_matches.reason IS 'Why they belong together.';
COMMENT ON COLUMN statement_matches.matched_by IS 'Who decided it.';
COMMENT ON COLUMN statement_matches.matched_at IS 'When.';
COMMENT ON COLUMN statement_matches.written_in IS 'Transaction that wrote it, and alone may write its parts.';
CREATE INDEX statement_matches_of ON statement_matches (source_id, livemode, period_from, period_to);
SELECT make_append_only('statement_matches');

CREATE TABLE statement_match_parts (
    match_id  uuid NOT NULL,
    meter     text NOT NULL,
    reference text NOT NULL CHECK (reference <> ''),
    side      text NOT NULL CHECK (side IN ('theirs', 'ours')),
    CONSTRAINT statement_match_parts_pkey PRIMARY KEY (match_id, reference),
    CONSTRAINT statement_match_parts_meter FOREIGN KEY (match_id, meter) REFERENCES statement_matches (match_id, meter)
);
COMMENT ON TABLE statement_match_parts IS 'The groups of a match.';
COMMENT ON COLUMN statement_match_parts.match_id IS 'The match.';
COMMENT ON COLUMN statement_match_parts.meter IS 'Its meter.';
COMMENT ON COLUMN statement_match_parts.reference IS 'The group''s reference: the provider''s, or our job id where there is none.';
COMMENT ON COLUMN statement_match_parts.side IS 'Which side had it when it was matched: what they state of which we had no usage, or our usage they did not state.';
CREATE INDEX statement_match_parts_of ON statement_match_parts (reference, meter);
SELECT make_append_only('statement_match_parts');

CREATE TABLE statement_match_undos (
    match_id  uuid NOT NULL REFERENCES statement_matches,
    reason    text NOT NULL CHECK (length(reason) BETWEEN 10 AND 500),
    undone_by uuid NOT NULL REFERENCES operators,
    undone_at timestamptz NOT NULL,
    CONSTRAINT statement_match_undos_pkey PRIMARY KEY (match_id)
);
COMMENT ON TABLE statement_match_undos IS 'Matches that were taken back, each once.';
COMMENT ON COLUMN statement_match_undos.match_id IS 'The match.';
COMMENT ON COLUMN statement_match_undos.reason IS 'Why it was taken back.';
COMMENT ON COLUMN statement_match_undos.undone_by IS 'Who took it back.';
COMMENT ON COLUMN statement_match_undos.undone_at IS 'When.';
SELECT make_append_only('statement_match_undos');

CREATE FUNCTION statement_match_parts_guard_one() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    mine statement_matches;
BEGIN
    SELECT * INTO mine FROM statement_matches WHERE match_id = NEW.match_id;
    IF mine.written_in <> pg_current_xact_id()::text::bigint THEN
        RAISE EXCEPTION 'match % was made before, and nothing is added to it', NEW.match_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'statement_match_parts_with_it';
    END IF;
    -- Two that want one group at once come here one after the other.
    PERFORM pg_advisory_xact_lock(hashtextextended(concat_ws(' ', mine.source_id, mine.livemode, mine.period_from, mine.period_to), 1));
    IF EXISTS (
        SELECT FROM statement_match_parts p JOIN statement_matches m USING (match_id)
        WHERE p.reference = NEW.reference AND p.meter = NEW.meter AND m.match_id <> mine.match_id
          AND (m.source_id, m.livemode, m.period_from, m.period_to) = (mine.source_id, mine.livemode, mine.period_from, mine.period_to)
          AND NOT EXISTS (SELECT FROM statement_match_undos u WHERE u.match_id = m.match_id)
    ) THEN
        RAISE EXCEPTION '% of % belongs to another match', NEW.reference, NEW.meter
            USING ERRCODE = 'unique_violation', CONSTRAINT = 'statement_match_parts_in_one';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION statement_match_parts_guard_one() IS 'A match is made with all its parts, and a group is in one match at a time.';
CREATE TRIGGER statement_match_parts_in_one BEFORE INSERT ON statement_match_parts
    FOR EACH ROW EXECUTE FUNCTION statement_match_parts_guard_one();

CREATE FUNCTION statement_matches_guard_sides() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(DISTINCT side) FROM statement_match_parts WHERE match_id = NEW.match_id) < 2 THEN
        RAISE EXCEPTION 'a match has something of both sides'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'statement_matches_both_sides';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION statement_matches_guard_sides() IS 'A match has something of both sides when its transaction commits.';
CREATE CONSTRAINT TRIGGER statement_matches_both_sides AFTER INSERT ON statement_matches
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION statement_matches_guard_sides();

-- A part is kept whatever it comes to on its own; the match it is in has a row of its own, under its id.
ALTER TABLE statement_groups ADD COLUMN match_id uuid REFERENCES statement_matches;
COMMENT ON COLUMN statement_groups.match_id IS 'The match it is a part of; then it is not counted on its own.';
ALTER TABLE statement_groups DROP CONSTRAINT statement_groups_outcome_check;
ALTER TABLE statement_groups ADD CONSTRAINT statement_groups_outcome_check CHECK (
    outcome IN ('within_tolerance', 'differs', 'missing_with_us', 'missing_with_provider', 'timing')
    OR outcome = 'matched' AND match_id IS NOT NULL);
