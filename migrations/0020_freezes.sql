-- Freezes of a tenant and of a source: what is frozen, since when, by whom, and who lifted it.

CREATE TABLE freeze_rules (
    version    integer CONSTRAINT freeze_rules_pkey PRIMARY KEY CHECK (version > 0),
    above      integer CHECK (above >= 0),
    created_at timestamptz NOT NULL,
    created_by text NOT NULL
);
COMMENT ON TABLE freeze_rules IS 'How many open exceptions about money a tenant may have before a reconciliation run freezes it. Without a version no run freezes anyone.';
COMMENT ON COLUMN freeze_rules.version IS 'Counts up from 1; the highest is in force.';
COMMENT ON COLUMN freeze_rules.above IS 'A run that finds more than so many freezes the tenant; NULL: no run freezes anyone.';
COMMENT ON COLUMN freeze_rules.created_at IS 'When it was set.';
COMMENT ON COLUMN freeze_rules.created_by IS 'Who set it.';
SELECT make_append_only('freeze_rules');

-- Actions may be about a tenant as a whole, or about a source. A source serves many tenants, so its actions
-- are kept under the nil id, which is no tenant's.
ALTER TABLE actions ADD COLUMN source_id uuid REFERENCES sources;
ALTER TABLE actions ALTER COLUMN wallet_id DROP NOT NULL;
ALTER TABLE actions ALTER COLUMN currency DROP NOT NULL;
ALTER TABLE actions ALTER COLUMN livemode DROP NOT NULL;
COMMENT ON COLUMN actions.tenant_id IS 'Tenant of what it is about; the nil id for a source, which serves many.';
COMMENT ON COLUMN actions.wallet_id IS 'To which wallet; NULL for a freeze of a tenant or a source.';
COMMENT ON COLUMN actions.source_id IS 'Which source is frozen, or goes on.';
COMMENT ON COLUMN actions.currency IS 'Currency of the wallet.';
COMMENT ON COLUMN actions.livemode IS 'Mode of the wallet or the source; NULL for a tenant, which has both.';
ALTER TABLE actions ADD CONSTRAINT actions_about CHECK (CASE
    WHEN wallet_id IS NOT NULL THEN currency IS NOT NULL AND livemode IS NOT NULL AND source_id IS NULL
    WHEN action NOT IN ('freeze', 'unfreeze') THEN false
    WHEN source_id IS NOT NULL THEN livemode IS NOT NULL AND currency IS NULL
                                    AND tenant_id = '00000000-0000-0000-0000-000000000000'
    ELSE livemode IS NULL AND currency IS NULL AND tenant_id <> '00000000-0000-0000-0000-000000000000' END);
-- Whatever the rules in force say, lifting a freeze takes two.
ALTER TABLE actions ADD CONSTRAINT actions_lift_takes_two
    CHECK (state <> 'done' OR action <> 'unfreeze' OR approved_by IS NOT NULL);

CREATE TABLE freezes (
    freeze_id     bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT freezes_pkey PRIMARY KEY,
    tenant_id     uuid REFERENCES tenants,
    source_id     uuid REFERENCES sources,
    action_tenant uuid NOT NULL GENERATED ALWAYS AS (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) STORED,
    reason        text NOT NULL CHECK (length(reason) BETWEEN 10 AND 500),
    frozen_at     timestamptz NOT NULL,
    frozen_by     uuid,
    rule_version  integer REFERENCES freeze_rules,
    run_id        bigint REFERENCES reconciliation_runs,
    lifted_at     timestamptz,
    lifted_by     uuid,
    CONSTRAINT freezes_frozen_by FOREIGN KEY (action_tenant, frozen_by) REFERENCES actions (tenant_id, action_id),
    CONSTRAINT freezes_lifted_by FOREIGN KEY (action_tenant, lifted_by) REFERENCES actions (tenant_id, action_id),
    CONSTRAINT freezes_of_one CHECK (num_nonnulls(tenant_id, source_id) = 1),
    CONSTRAINT freezes_one_maker CHECK (num_nonnulls(frozen_by, rule_version) = 1),
    CONSTRAINT freezes_rule_and_run CHECK ((rule_version IS NULL) = (run_id IS NULL)),
    CONSTRAINT freezes_rule_is_of_tenants CHECK (rule_version IS NULL OR tenant_id IS NOT NULL),
    CONSTRAINT freezes_lifted CHECK ((lifted_at IS NULL) = (lifted_by IS NULL))
);
COMMENT ON TABLE freezes IS 'Each time the billing of a tenant or a source was stopped: by whom, why, and who let it go on.';
COMMENT ON COLUMN freezes.freeze_id IS 'Order of freezing.';
COMMENT ON COLUMN freezes.tenant_id IS 'The tenant whose jobs are refused and whose events wait.';
COMMENT ON COLUMN freezes.source_id IS 'The source whose events wait.';
COMMENT ON COLUMN freezes.action_tenant IS 'Under which tenant its actions are kept.';
COMMENT ON COLUMN freezes.reason IS 'Why, in the words of its maker.';
COMMENT ON COLUMN freezes.frozen_at IS 'Since when.';
COMMENT ON COLUMN freezes.frozen_by IS 'The action that froze it; NULL when a rule did.';
COMMENT ON COLUMN freezes.rule_version IS 'The rule that froze it; NULL when a person did.';
COMMENT ON COLUMN freezes.run_id IS 'The run that found more than the rule allows.';
COMMENT ON COLUMN freezes.lifted_at IS 'When it was lifted; NULL while it is in force.';
COMMENT ON COLUMN freezes.lifted_by IS 'The approved action that lifted it.';
-- What is frozen is not frozen again.
CREATE UNIQUE INDEX freezes_tenant_once ON freezes (tenant_id) WHERE lifted_at IS NULL AND tenant_id IS NOT NULL;
CREATE UNIQUE INDEX freezes_source_once ON freezes (source_id) WHERE lifted_at IS NULL AND source_id IS NOT NULL;
CREATE INDEX freezes_by_lift ON freezes (lifted_at);
GRANT SELECT, INSERT ON freezes TO quittance_app;
GRANT UPDATE (lifted_at, lifted_by) ON freezes TO quittance_app;

CREATE FUNCTION freezes_guard_lift() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.lifted_at IS NOT NULL THEN
        RAISE EXCEPTION 'freeze % was lifted before', OLD.freeze_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'freezes_lifted_once';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION freezes_guard_lift() IS 'Refuses every change of a freeze but its one lift.';
CREATE TRIGGER freezes_lifted_once BEFORE UPDATE ON freezes FOR EACH ROW EXECUTE FUNCTION freezes_guard_lift();

CREATE FUNCTION freezes_guard_approval() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.lifted_by IS NOT NULL AND NOT EXISTS (
        SELECT FROM actions a
        WHERE a.tenant_id = NEW.action_tenant AND a.action_id = NEW.lifted_by AND a.action = 'unfreeze'
          AND a.wallet_id IS NULL AND a.source_id IS NOT DISTINCT FROM NEW.source_id
          AND a.state = 'done' AND a.approved_by <> a.requested_by
    ) THEN
        RAISE EXCEPTION 'freeze % is not lifted without an approved action', NEW.freeze_id
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'freezes_lift_is_approved';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION freezes_guard_approval() IS 'Refuses a lift whose action is not done and approved by someone else when the transaction ends.';
CREATE CONSTRAINT TRIGGER freezes_lift_is_approved AFTER INSERT OR UPDATE ON freezes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION freezes_guard_approval();

-- Whoever settles or submits shares this lock until it commits; whoever freezes or lifts holds it alone. So
-- work that began before a freeze is over when the freeze is written, and work that begins later reads it.
CREATE FUNCTION freezes_hold() RETURNS void LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(5869713637466339941) $$;
COMMENT ON FUNCTION freezes_hold() IS 'Waits for all settling and submitting that goes on, and keeps it waiting until the transaction ends.';

-- Reading takes the share first; being volatile, the function reads after it is held.
CREATE FUNCTION freezes_seen(since timestamptz)
    RETURNS TABLE (tenant_id uuid, source_id uuid, reason text, lifted_at timestamptz)
    LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(5869713637466339941);
    RETURN QUERY SELECT f.tenant_id, f.source_id, f.reason, f.lifted_at FROM freezes f
                 WHERE f.lifted_at IS NULL OR f.lifted_at > since;
END
$$;
COMMENT ON FUNCTION freezes_seen(timestamptz) IS 'What is frozen, and what was until lately, true until the transaction ends.';

CREATE INDEX wallets_frozen ON wallets (tenant_id, wallet_id) WHERE frozen_at IS NOT NULL;
CREATE INDEX events_of_frozen_tenants ON events (tenant_id, event_id) WHERE state = 'waiting' AND reason = 'tenant_frozen';
CREATE INDEX events_of_frozen_sources ON events (source_id, event_id) WHERE state = 'waiting' AND reason = 'source_frozen';
