-- A payload whose month had no partition yet lies in the default one. Making that month's partition takes
-- such rows along; otherwise they would stand in its way for ever.
CREATE OR REPLACE FUNCTION ensure_payload_partition(month date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE
    first date := date_trunc('month', month)::date;
    name  text := 'event_payloads_' || to_char(first, 'YYYYMM');
    since timestamptz := first::timestamp AT TIME ZONE 'UTC';
    until timestamptz := (first + interval '1 month')::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN;
    END IF;
    -- Before anything is looked at: a row that came in between would be left behind.
    LOCK TABLE public.event_payloads IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.event_payloads INCLUDING ALL)', name);
    EXECUTE format('WITH astray AS (DELETE FROM public.event_payloads_default
                                    WHERE received_at >= %L AND received_at < %L RETURNING *)
                    INSERT INTO public.%I SELECT * FROM astray', since, until, name);
    EXECUTE format('ALTER TABLE public.event_payloads ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                   name, since, until);
    EXECUTE format('CREATE TRIGGER append_only_rows BEFORE UPDATE ON public.%I
                    FOR EACH ROW EXECUTE FUNCTION public.refuse_change()', name);
END
$$;
COMMENT ON FUNCTION ensure_payload_partition(date) IS 'Creates the payload partition of a month (UTC) when it is missing, with what lies in the default partition for it.';
