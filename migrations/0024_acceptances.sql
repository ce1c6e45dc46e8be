-- Accepting what an exception says: a difference to what somebody else says, never one within our own books.

ALTER TABLE exception_notes DROP CONSTRAINT exception_notes_what_check;
ALTER TABLE exception_notes ADD CONSTRAINT exception_notes_what_check CHECK (what IN (
    'opened', 'reopened', 'closed', 'assigned', 'unassigned', 'snoozed', 'noted', 'repaired', 'accepted'));

CREATE TABLE exception_acceptances (
    acceptance_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    exception_id  bigint NOT NULL REFERENCES exceptions,
    expected      numeric,
    actual        numeric,
    operator_id   uuid NOT NULL REFERENCES operators,
    at            timestamptz NOT NULL,
    -- The same two numbers are accepted once; other numbers are another matter.
    CONSTRAINT exception_acceptances_once UNIQUE NULLS NOT DISTINCT (exception_id, expected, actual)
);
COMMENT ON TABLE exception_acceptances IS 'Differences that a person has accepted. Runs do not find them again while both numbers are the same.';
COMMENT ON COLUMN exception_acceptances.acceptance_id IS 'Order of accepting.';
COMMENT ON COLUMN exception_acceptances.exception_id IS 'The exception.';
COMMENT ON COLUMN exception_acceptances.expected IS 'The number that should have been there.';
COMMENT ON COLUMN exception_acceptances.actual IS 'The number that was there.';
COMMENT ON COLUMN exception_acceptances.operator_id IS 'Who accepted it; why is in the note of the same instant.';
COMMENT ON COLUMN exception_acceptances.at IS 'When.';
SELECT make_append_only('exception_acceptances');
