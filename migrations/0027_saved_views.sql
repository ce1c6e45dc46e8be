-- Saved views: filters of a list that an operator has given a name.

CREATE TABLE saved_views (
    view_id     uuid PRIMARY KEY,
    operator_id uuid NOT NULL REFERENCES operators,
    list        text NOT NULL CHECK (list IN (
        'jobs', 'events', 'deliveries', 'settlements', 'exceptions', 'statements', 'audit')),
    name        text NOT NULL,
    filters     text NOT NULL,
    shared      boolean NOT NULL,
    saved_at    timestamptz NOT NULL,
    CONSTRAINT saved_views_name CHECK (length(name) BETWEEN 1 AND 60 AND name = btrim(name) AND name !~ '[[:cntrl:]]'),
    -- What stands behind the question mark of an address, and nothing that could end one.
    CONSTRAINT saved_views_filters CHECK (length(filters) BETWEEN 1 AND 1000 AND filters ~ '^[A-Za-z0-9._~%+&=*-]+$'),
    -- A name means one view to the operator who gave it.
    CONSTRAINT saved_views_once UNIQUE (operator_id, list, name)
);
COMMENT ON TABLE saved_views IS 'Filters of lists under a name. Nothing is decided by them; their owner may drop them.';
COMMENT ON COLUMN saved_views.view_id IS 'View.';
COMMENT ON COLUMN saved_views.operator_id IS 'Who saved it, and alone may drop it.';
COMMENT ON COLUMN saved_views.list IS 'The list, as its address calls it.';
COMMENT ON COLUMN saved_views.name IS 'What its owner calls it.';
COMMENT ON COLUMN saved_views.filters IS 'The query of the list''s address, encoded.';
COMMENT ON COLUMN saved_views.shared IS 'Whether every operator sees it.';
COMMENT ON COLUMN saved_views.saved_at IS 'When.';
CREATE INDEX saved_views_shared ON saved_views (list) WHERE shared;

GRANT SELECT, INSERT, DELETE ON saved_views TO quittance_app;
