-- What senders told us: events once, deliveries every time, payloads by month, conflicts for ever.
--
-- Events belong to a source; which tenant they concern is known only once their job is found, so
-- these tables are keyed by source and event, not by tenant.

CREATE TABLE events (
    event_id           bigint GENERATED ALWAYS AS IDENTITY,
    source_id          uuid NOT NULL REFERENCES sources,
    livemode           boolean NOT NULL,
    event_key          text NOT NULL CHECK (event_key <> ''),
    canonical_hash     bytea NOT NULL CHECK (octet_length(canonical_hash) = 32),
    raw_hash           bytea NOT NULL CHECK (octet_length(raw_hash) = 32),
    kind               text NOT NULL,
    provider_reference text,
    job_hint           uuid,
    occurred_at        timestamptz,
    received_at        timestamptz NOT NULL,
    shard              smallint NOT NULL CHECK (shard >= 0),
    state              text NOT NULL CHECK (state IN ('received', 'waiting', 'failed', 'applied', 'ignored', 'rejected', 'conflict')),
    reason             text,
    attempts           smallint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    due_at             timestamptz,
    tenant_id          uuid,
    job_id             uuid,
    decided_at         timestamptz,
    -- livemode is part of the key so that a settlement can only name an event of its own mode.
    CONSTRAINT events_pkey PRIMARY KEY (event_id, livemode),
    CONSTRAINT events_key UNIQUE (source_id, event_key),
    CONSTRAINT events_due_until_decided CHECK ((due_at IS NOT NULL) = (state IN ('received', 'waiting', 'failed'))),
    CONSTRAINT events_decided_at_set CHECK ((decided_at IS NOT NULL) = (state IN ('applied', 'ignored', 'rejected', 'conflict'))),
    CONSTRAINT events_reason_given CHECK (state IN ('received', 'applied') OR reason IS NOT NULL),
    CONSTRAINT events_applied_to_job CHECK (state <> 'applied' OR job_id IS NOT NULL)
) WITH (fillfactor = 85);
COMMENT ON TABLE events IS 'Each event once, for ever: identity, what it concerns, and what became of it.';
COMMENT ON COLUMN events.event_id IS 'Order of acceptance.';
COMMENT ON COLUMN events.source_id IS 'Who sent it.';
COMMENT ON COLUMN events.livemode IS 'Mode of the source when it was accepted.';
COMMENT ON COLUMN events.event_key IS 'The sender''s id, or one derived from stable fields.';
COMMENT ON COLUMN events.canonical_hash IS 'SHA-256 of the RFC 8785 form of the fields the adapter declares billing-relevant.';
COMMENT ON COLUMN events.raw_hash IS 'SHA-256 of the body as it came.';
COMMENT ON COLUMN events.kind IS 'What the sender calls it: job.succeeded, succeeded, ….';
COMMENT ON COLUMN events.provider_reference IS 'The provider''s id of the work it speaks of.';
COMMENT ON COLUMN events.job_hint IS 'Our job id, where the sender echoes it.';
COMMENT ON COLUMN events.occurred_at IS 'When it happened, by the sender''s clock.';
COMMENT ON COLUMN events.received_at IS 'When it was accepted.';
COMMENT ON COLUMN events.shard IS 'Hash of what it concerns: one worker sees all events of a job.';
COMMENT ON COLUMN events.state IS 'received → applied | ignored | rejected | conflict, by way of waiting and failed.';
COMMENT ON COLUMN events.reason IS 'Why it waits, failed, was ignored or rejected.';
COMMENT ON COLUMN events.attempts IS 'How often it was looked at without a final answer.';
COMMENT ON COLUMN events.due_at IS 'When a worker looks at it next; NULL once decided.';
COMMENT ON COLUMN events.tenant_id IS 'Tenant of its job, once found.';
COMMENT ON COLUMN events.job_id IS 'Its job, once found.';
COMMENT ON COLUMN events.decided_at IS 'When its outcome became final.';
CREATE INDEX events_due ON events (due_at, event_id) WHERE due_at IS NOT NULL;
CREATE INDEX events_by_job ON events (job_id, event_id) WHERE job_id IS NOT NULL;
CREATE INDEX events_waiting_reference ON events (source_id, provider_reference) WHERE state = 'waiting';
CREATE INDEX events_attention ON events (event_id) WHERE state IN ('waiting', 'failed', 'rejected', 'conflict');
CREATE INDEX events_received ON events USING brin (received_at);
GRANT SELECT, INSERT ON events TO quittance_app;
GRANT UPDATE (state, reason, attempts, due_at, tenant_id, job_id, decided_at) ON events TO quittance_app;

CREATE TABLE event_payloads (
    event_id    bigint NOT NULL,
    received_at timestamptz NOT NULL,
    body        bytea NOT NULL,
    headers     jsonb NOT NULL,
    CONSTRAINT event_payloads_pkey PRIMARY KEY (event_id, received_at)
) PARTITION BY RANGE (received_at);
COMMENT ON TABLE event_payloads IS 'Bodies as they came, one partition a month, dropped by retention; the event itself stays.';
COMMENT ON COLUMN event_payloads.event_id IS 'The event.';
COMMENT ON COLUMN event_payloads.received_at IS 'When it was accepted; chooses the partition.';
COMMENT ON COLUMN event_payloads.body IS 'The raw bytes that were signed.';
COMMENT ON COLUMN event_payloads.headers IS 'Request headers as [name, value] pairs, credentials left out.';
CREATE TABLE event_payloads_default PARTITION OF event_payloads DEFAULT;
COMMENT ON TABLE event_payloads_default IS 'Catches a month whose partition does not exist yet, so nothing is refused.';
GRANT SELECT, INSERT ON event_payloads TO quittance_app;

-- Called by the scheduler; SECURITY DEFINER because only the owner may create tables.
CREATE FUNCTION ensure_payload_partition(month date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
    first date := date_trunc('month', month)::date;
    name  text := 'event_payloads_' || to_char(first, 'YYYYMM');
BEGIN
    IF to_regclass('public.' || name) IS NULL THEN
        EXECUTE format('CREATE TABLE public.%I PARTITION OF public.event_payloads FOR VALUES FROM (%L) TO (%L)',
                       name, first::timestamp AT TIME ZONE 'UTC', (first + interval '1 month')::timestamp AT TIME ZONE 'UTC');
        EXECUTE format('CREATE TRIGGER append_only_rows BEFORE UPDATE ON public.%I
                        FOR EACH ROW EXECUTE FUNCTION public.refuse_change()', name);
    END IF;
END
$$;
COMMENT ON FUNCTION ensure_payload_partition(date) IS 'Creates the payload partition of a month (UTC) when it is missing.';
REVOKE EXECUTE ON FUNCTION ensure_payload_partition(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_payload_partition(date) TO quittance_app;

CREATE TABLE deliveries (
    delivery_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source_slug     text NOT NULL,
    source_id       uuid,
    event_id        bigint,
    outcome         text NOT NULL CHECK (outcome IN ('accepted', 'duplicate', 'conflict', 'rejected')),
    reason          text,
    status          smallint NOT NULL CHECK (status BETWEEN 200 AND 599),
    sender_id       text,
    body_bytes      integer NOT NULL CHECK (body_bytes >= 0),
    remote_address  text,
    received_at     timestamptz NOT NULL,
    CONSTRAINT deliveries_event_unless_rejected CHECK ((outcome = 'rejected') = (event_id IS NULL)),
    CONSTRAINT deliveries_reject_has_reason CHECK (outcome <> 'rejected' OR reason IS NOT NULL)
);
COMMENT ON TABLE deliveries IS 'Each HTTP attempt. Rejected ones carry a reason and no payload, and their number is bounded.';
COMMENT ON COLUMN deliveries.delivery_id IS 'Order of arrival.';
COMMENT ON COLUMN deliveries.source_slug IS 'Source named in the URL, known or not (cut to 80 characters).';
COMMENT ON COLUMN deliveries.source_id IS 'The source, when known.';
COMMENT ON COLUMN deliveries.event_id IS 'The event it carried, unless rejected.';
COMMENT ON COLUMN deliveries.outcome IS 'What we made of it.';
COMMENT ON COLUMN deliveries.reason IS 'Why it was rejected.';
COMMENT ON COLUMN deliveries.status IS 'HTTP status answered.';
COMMENT ON COLUMN deliveries.sender_id IS 'The sender''s id of the delivery, when it gives one.';
COMMENT ON COLUMN deliveries.body_bytes IS 'Size of the body, as far as it was read.';
COMMENT ON COLUMN deliveries.remote_address IS 'Peer address.';
COMMENT ON COLUMN deliveries.received_at IS 'When it arrived.';
CREATE INDEX deliveries_by_event ON deliveries (event_id) WHERE event_id IS NOT NULL;
CREATE INDEX deliveries_rejected ON deliveries (delivery_id) WHERE outcome = 'rejected';
CREATE INDEX deliveries_received ON deliveries USING brin (received_at);
GRANT SELECT, INSERT ON deliveries TO quittance_app;

CREATE FUNCTION prune_rejected_deliveries(keep integer) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
    WITH gone AS (
        DELETE FROM public.deliveries
        WHERE outcome = 'rejected' AND delivery_id <= (
            SELECT delivery_id FROM public.deliveries WHERE outcome = 'rejected'
            ORDER BY delivery_id DESC OFFSET keep LIMIT 1)
        RETURNING 1)
    SELECT count(*) FROM gone
$$;
COMMENT ON FUNCTION prune_rejected_deliveries(integer) IS 'Keeps the newest rejected deliveries only; nothing else of deliveries is ever deleted.';
REVOKE EXECUTE ON FUNCTION prune_rejected_deliveries(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION prune_rejected_deliveries(integer) TO quittance_app;

CREATE TABLE conflicts (
    conflict_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id       bigint NOT NULL,
    livemode       boolean NOT NULL,
    canonical_hash bytea NOT NULL CHECK (octet_length(canonical_hash) = 32),
    raw_hash       bytea NOT NULL CHECK (octet_length(raw_hash) = 32),
    body           bytea NOT NULL,
    received_at    timestamptz NOT NULL,
    CONSTRAINT conflicts_event FOREIGN KEY (event_id, livemode) REFERENCES events,
    CONSTRAINT conflicts_content UNIQUE (event_id, canonical_hash)
);
COMMENT ON TABLE conflicts IS 'Same event key, different content: both are kept and a person decides. Never a winner by itself.';
COMMENT ON COLUMN conflicts.conflict_id IS 'Order of discovery.';
COMMENT ON COLUMN conflicts.event_id IS 'The event that came first.';
COMMENT ON COLUMN conflicts.livemode IS 'Mode of that event.';
COMMENT ON COLUMN conflicts.canonical_hash IS 'Canonical hash of the other content.';
COMMENT ON COLUMN conflicts.raw_hash IS 'Raw hash of the other content.';
COMMENT ON COLUMN conflicts.body IS 'The other content, as it came.';
COMMENT ON COLUMN conflicts.received_at IS 'When the other content first came.';
SELECT make_append_only('conflicts');
