-- The application's role, the guards every append-only table shares, and the currency table.
--
-- The migrating role owns everything. The application runs as quittance_app (SET ROLE after
-- connecting), which is granted table by table and never holds UPDATE or DELETE where history lives.

DO $$
BEGIN
    CREATE ROLE quittance_app NOLOGIN;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

DO $$
BEGIN
    EXECUTE format('GRANT quittance_app TO %I', current_user);
EXCEPTION
    WHEN unique_violation OR object_in_use THEN NULL; -- granted by another database of the cluster meanwhile
    WHEN OTHERS THEN
        -- Concurrent grants of a cluster-wide role may collide; membership is what matters.
        IF NOT pg_has_role(current_user, 'quittance_app', 'MEMBER') THEN RAISE; END IF;
END
$$;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation',
              HINT = 'Correct history with a new compensating entry.';
END
$$;
COMMENT ON FUNCTION refuse_change() IS 'Trigger body of every append-only table: refuses UPDATE, DELETE and TRUNCATE for every role.';

CREATE FUNCTION make_append_only(target regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER append_only_rows BEFORE UPDATE OR DELETE ON %s
                    FOR EACH ROW EXECUTE FUNCTION refuse_change()', target);
    EXECUTE format('CREATE TRIGGER append_only_table BEFORE TRUNCATE ON %s
                    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', target);
    EXECUTE format('GRANT SELECT, INSERT ON %s TO quittance_app', target);
END
$$;
COMMENT ON FUNCTION make_append_only(regclass) IS 'Guards a table by triggers and grants the application SELECT and INSERT only.';

CREATE TABLE currencies (
    currency        text PRIMARY KEY CHECK (currency ~ '^[A-Z]{3}$'),
    minor_exponent  smallint NOT NULL CHECK (minor_exponent BETWEEN 0 AND 4),
    ledger_exponent smallint NOT NULL CHECK (ledger_exponent BETWEEN minor_exponent AND 9)
);
COMMENT ON TABLE currencies IS 'Currencies the books may hold. Mirrors domain::money; a test compares the two.';
COMMENT ON COLUMN currencies.currency IS 'ISO 4217 alphabetic code.';
COMMENT ON COLUMN currencies.minor_exponent IS 'Digits of the minor unit (ISO 4217): 0 for JPY, 2 for USD, 3 for KWD.';
COMMENT ON COLUMN currencies.ledger_exponent IS 'Digits the ledger keeps. Work is cheaper than a minor unit, so the books are finer.';
GRANT SELECT ON currencies TO quittance_app;

INSERT INTO currencies (currency, minor_exponent, ledger_exponent) VALUES
    ('USD', 2, 6), ('EUR', 2, 6), ('GBP', 2, 6), ('CHF', 2, 6), ('CAD', 2, 6), ('AUD', 2, 6),
    ('SEK', 2, 6), ('NOK', 2, 6), ('DKK', 2, 6), ('PLN', 2, 6), ('INR', 2, 6), ('BRL', 2, 6),
    ('CNY', 2, 6), ('SGD', 2, 6), ('HKD', 2, 6), ('NZD', 2, 6), ('MXN', 2, 6), ('ZAR', 2, 6),
    ('JPY', 0, 4), ('KRW', 0, 4), ('BHD', 3, 7), ('JOD', 3, 7), ('KWD', 3, 7), ('OMR', 3, 7), ('TND', 3, 7);
