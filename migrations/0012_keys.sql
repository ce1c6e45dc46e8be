-- Keys that hold over tenants, modes and repeats.

-- A provider's reference means one job, whichever tenant's: an event that names nothing else must not be
-- claimed by two. The reference belongs to the source, so the source leads the key; that another tenant
-- has it shows only as "taken".
CREATE TABLE provider_references (
    source_id          uuid NOT NULL REFERENCES sources,
    provider_reference text NOT NULL,
    job_tenant_id      uuid NOT NULL,
    job_id             uuid NOT NULL,
    CONSTRAINT provider_references_pkey PRIMARY KEY (source_id, provider_reference),
    CONSTRAINT provider_references_job FOREIGN KEY (job_tenant_id, job_id) REFERENCES jobs (tenant_id, job_id)
);
COMMENT ON TABLE provider_references IS 'Which job a provider''s reference means, once for ever. Written with the job''s own column, by a trigger.';
COMMENT ON COLUMN provider_references.source_id IS 'Source whose reference it is.';
COMMENT ON COLUMN provider_references.provider_reference IS 'The provider''s id of the work.';
COMMENT ON COLUMN provider_references.job_tenant_id IS 'Tenant of the job.';
COMMENT ON COLUMN provider_references.job_id IS 'The job.';
SELECT make_append_only('provider_references');

INSERT INTO provider_references (source_id, provider_reference, job_tenant_id, job_id)
SELECT source_id, provider_reference, tenant_id, job_id FROM jobs WHERE provider_reference IS NOT NULL
ORDER BY job_id
ON CONFLICT DO NOTHING;

CREATE FUNCTION jobs_claim_reference() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO provider_references (source_id, provider_reference, job_tenant_id, job_id)
    VALUES (NEW.source_id, NEW.provider_reference, NEW.tenant_id, NEW.job_id);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION jobs_claim_reference() IS 'Claims the reference a job has just got; refuses one that means another job.';
CREATE TRIGGER jobs_claim_new_reference AFTER INSERT ON jobs
    FOR EACH ROW WHEN (NEW.provider_reference IS NOT NULL) EXECUTE FUNCTION jobs_claim_reference();
CREATE TRIGGER jobs_claim_reference AFTER UPDATE OF provider_reference ON jobs
    FOR EACH ROW WHEN (OLD.provider_reference IS NULL AND NEW.provider_reference IS NOT NULL)
    EXECUTE FUNCTION jobs_claim_reference();
ALTER TABLE jobs DROP CONSTRAINT jobs_provider_reference;

-- A rehearsal with test money uses the ids of the real thing; the two never meet.
ALTER TABLE jobs DROP CONSTRAINT jobs_client_request;
ALTER TABLE jobs ADD CONSTRAINT jobs_client_request UNIQUE (tenant_id, livemode, user_id, client_request_id);

-- Credit has a key like every other movement: a repeat of a grant finds the first.
ALTER TABLE lots ADD COLUMN grant_key text;
UPDATE lots SET grant_key = lot_id::text;
ALTER TABLE lots ALTER COLUMN grant_key SET NOT NULL;
ALTER TABLE lots ADD CONSTRAINT lots_grant_key UNIQUE (tenant_id, grant_key);
ALTER TABLE lots ADD CONSTRAINT lots_grant_key_filled CHECK (grant_key <> '');
COMMENT ON COLUMN lots.grant_key IS 'Names what is credited: a payment, an action. The same key credits once.';

-- fal signs for all of its accounts with one key: the signature alone does not say whose event it is. A
-- source set up before this has no account and refuses everything until it is set up anew.
ALTER TABLE sources ADD COLUMN account text CHECK (account <> '');
ALTER TABLE sources ADD CONSTRAINT sources_account_named
    CHECK ((scheme = 'fal-ed25519') = (account IS NOT NULL)) NOT VALID;
COMMENT ON COLUMN sources.account IS 'The sender''s account, for schemes whose one key signs for all accounts; events of another are refused.';
