-- Immutable dated prices.

CREATE TABLE price_versions (
    model          text NOT NULL CHECK (model <> ''),
    currency       text NOT NULL REFERENCES currencies,
    version        integer NOT NULL CHECK (version > 0),
    terms          jsonb NOT NULL CHECK (jsonb_typeof(terms) = 'object'),
    effective_from timestamptz NOT NULL,
    created_at     timestamptz NOT NULL,
    created_by     text NOT NULL,
    CONSTRAINT price_versions_pkey PRIMARY KEY (model, currency, version)
);
COMMENT ON TABLE price_versions IS 'What a model costs in a currency from a date on. A change is a new version, never an edit.';
COMMENT ON COLUMN price_versions.model IS 'Model as product backends name it.';
COMMENT ON COLUMN price_versions.currency IS 'Currency of the terms.';
COMMENT ON COLUMN price_versions.version IS 'Counts up from 1 for each model and currency.';
COMMENT ON COLUMN price_versions.terms IS 'Components, rounding and estimate as domain::price::Terms writes them; decimals are strings.';
COMMENT ON COLUMN price_versions.effective_from IS 'Jobs submitted from this instant on use it, until a later version.';
COMMENT ON COLUMN price_versions.created_at IS 'When it was entered.';
COMMENT ON COLUMN price_versions.created_by IS 'Who entered it.';
SELECT make_append_only('price_versions');
