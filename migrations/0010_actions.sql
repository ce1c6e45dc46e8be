-- What people do to wallets: keyed requests with a dry run, an approval where the amount asks for one,
-- and one outcome.

CREATE TABLE approval_thresholds (
    action     text NOT NULL CHECK (action IN ('goodwill')),
    currency   text NOT NULL REFERENCES currencies,
    version    integer NOT NULL CHECK (version > 0),
    above      numeric(28,9) NOT NULL CHECK (above >= 0),
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT approval_thresholds_pkey PRIMARY KEY (action, currency, version)
);
COMMENT ON TABLE approval_thresholds IS 'Above which amount an action waits for a second person. Without a version every amount does.';
COMMENT ON COLUMN approval_thresholds.action IS 'The action.';
COMMENT ON COLUMN approval_thresholds.currency IS 'Currency of the amount.';
COMMENT ON COLUMN approval_thresholds.version IS 'Counts up from 1; the highest is in force.';
COMMENT ON COLUMN approval_thresholds.above IS 'Amounts up to this one need no approval.';
COMMENT ON COLUMN approval_thresholds.created_at IS 'When it was set.';
COMMENT ON COLUMN approval_thresholds.created_by IS 'Who set it.';
SELECT make_append_only('approval_thresholds');

CREATE TABLE actions (
    tenant_id       uuid NOT NULL,
    action_id       uuid NOT NULL,
    action          text NOT NULL CHECK (action IN ('goodwill', 'freeze', 'unfreeze')),
    wallet_id       uuid NOT NULL,
    currency        text NOT NULL,
    livemode        boolean NOT NULL,
    amount          numeric(28,9) CHECK (amount > 0),
    lot_expires_at  timestamptz,
    category        text NOT NULL CHECK (category IN ('incident', 'complaint', 'promotion', 'suspicion', 'resolved', 'other')),
    reason          text NOT NULL CHECK (length(reason) BETWEEN 10 AND 500),
    request_hash    bytea NOT NULL CHECK (octet_length(request_hash) = 32),
    state           text NOT NULL CHECK (state IN ('draft', 'waiting', 'done', 'withdrawn', 'refused', 'expired')),
    needs_approval  boolean NOT NULL DEFAULT true,
    basis_hash      bytea CHECK (octet_length(basis_hash) = 32),
    requested_by    uuid NOT NULL REFERENCES operators,
    requested_at    timestamptz NOT NULL,
    expires_at      timestamptz NOT NULL,
    approved_by     uuid REFERENCES operators,
    decided_by      uuid REFERENCES operators,
    decided_at      timestamptz,
    decision_reason text CHECK (length(decision_reason) BETWEEN 10 AND 500),
    settlement_id   uuid,
    CONSTRAINT actions_pkey PRIMARY KEY (tenant_id, action_id),
    CONSTRAINT actions_wallet FOREIGN KEY (tenant_id, wallet_id, currency, livemode)
        REFERENCES wallets (tenant_id, wallet_id, currency, livemode),
    CONSTRAINT actions_settlement FOREIGN KEY (tenant_id, settlement_id) REFERENCES settlements,
    CONSTRAINT actions_amount CHECK ((amount IS NOT NULL) = (action = 'goodwill')),
    CONSTRAINT actions_maker_is_not_checker CHECK (approved_by <> requested_by),
    CONSTRAINT actions_done_with_approval CHECK (state <> 'done' OR NOT needs_approval OR approved_by IS NOT NULL),
    CONSTRAINT actions_decided CHECK ((decided_at IS NOT NULL) = (state NOT IN ('draft', 'waiting'))),
    CONSTRAINT actions_basis CHECK (state NOT IN ('waiting', 'done') OR basis_hash IS NOT NULL),
    CONSTRAINT actions_goodwill_settles CHECK ((settlement_id IS NOT NULL) = (action = 'goodwill' AND state = 'done')),
    CONSTRAINT actions_refusal_has_reason CHECK (state <> 'refused' OR decision_reason IS NOT NULL)
);
COMMENT ON TABLE actions IS 'A keyed request of an operator: proposed, shown as a dry run, committed once, or approved by someone else first.';
COMMENT ON COLUMN actions.tenant_id IS 'Tenant of the wallet.';
COMMENT ON COLUMN actions.action_id IS 'The action key, minted with the form (UUIDv7): sending the form twice is one action.';
COMMENT ON COLUMN actions.action IS 'What is to be done.';
COMMENT ON COLUMN actions.wallet_id IS 'To which wallet.';
COMMENT ON COLUMN actions.currency IS 'Currency of the wallet.';
COMMENT ON COLUMN actions.livemode IS 'Mode of the wallet.';
COMMENT ON COLUMN actions.amount IS 'How much, for actions that move money.';
COMMENT ON COLUMN actions.lot_expires_at IS 'When the credit given expires; NULL for never.';
COMMENT ON COLUMN actions.category IS 'Kind of reason.';
COMMENT ON COLUMN actions.reason IS 'Why, in the maker''s words.';
COMMENT ON COLUMN actions.request_hash IS 'SHA-256 of the canonical request; the same key with another one is a conflict.';
COMMENT ON COLUMN actions.state IS 'draft → done, or draft → waiting → done | withdrawn | refused | expired.';
COMMENT ON COLUMN actions.needs_approval IS 'Whether a second person has to approve: always, unless the rules in force when it is carried out say otherwise.';
COMMENT ON COLUMN actions.basis_hash IS 'Hash of the dry run it was committed on; an approval must still find it true.';
COMMENT ON COLUMN actions.requested_by IS 'The maker.';
COMMENT ON COLUMN actions.requested_at IS 'When it was proposed.';
COMMENT ON COLUMN actions.expires_at IS 'A draft or a waiting action is void after this instant.';
COMMENT ON COLUMN actions.approved_by IS 'The checker; never the maker.';
COMMENT ON COLUMN actions.decided_by IS 'Who ended it.';
COMMENT ON COLUMN actions.decided_at IS 'When it ended.';
COMMENT ON COLUMN actions.decision_reason IS 'Why it was refused.';
COMMENT ON COLUMN actions.settlement_id IS 'What it posted.';
CREATE INDEX actions_waiting ON actions (action_id) WHERE state = 'waiting';
CREATE INDEX actions_by_wallet ON actions (tenant_id, wallet_id, action_id);
CREATE INDEX actions_by_id ON actions (action_id);
GRANT SELECT, INSERT ON actions TO quittance_app;
GRANT UPDATE (state, needs_approval, basis_hash, approved_by, decided_by, decided_at, decision_reason, settlement_id)
    ON actions TO quittance_app;

-- An ended action never changes again (the same table as domain::action::State::may_become).
CREATE FUNCTION actions_guard_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (OLD.state, NEW.state) NOT IN (
        ('draft', 'waiting'), ('draft', 'done'), ('draft', 'withdrawn'), ('draft', 'expired'),
        ('waiting', 'done'), ('waiting', 'withdrawn'), ('waiting', 'refused'), ('waiting', 'expired')
    ) THEN
        RAISE EXCEPTION 'action % cannot go from % to %', OLD.action_id, OLD.state, NEW.state
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'actions_transition';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION actions_guard_transition() IS 'Refuses every change of an action that is not a step of its life.';
CREATE TRIGGER actions_transition BEFORE UPDATE ON actions FOR EACH ROW EXECUTE FUNCTION actions_guard_transition();
