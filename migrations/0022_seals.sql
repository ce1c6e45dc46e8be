-- Seals: all settlements and transfers as the leaves of one Merkle tree, sealed in the background.
--
-- A seal's root stands for every leaf up to it. Noted elsewhere, it shows later whether history was changed
-- below the application, even when hashes and balances were changed along.

CREATE TABLE seals (
    seal_number     bigint NOT NULL CHECK (seal_number > 0),
    previous_number bigint,
    posting_from    bigint NOT NULL CHECK (posting_from >= 0),
    posting_to      bigint NOT NULL,
    leaves_before   bigint NOT NULL CHECK (leaves_before >= 0),
    leaves          bigint NOT NULL,
    unmoved         bigint NOT NULL CHECK (unmoved >= 0),
    root            bytea NOT NULL CHECK (octet_length(root) = 32),
    previous_root   bytea,
    frontier        bytea[] NOT NULL,
    sealed_at       timestamptz NOT NULL,
    written_in      bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    CONSTRAINT seals_pkey PRIMARY KEY (seal_number),
    -- What the next seal continues.
    CONSTRAINT seals_end UNIQUE (seal_number, posting_to, leaves, root),
    -- Nothing follows a seal twice, and nothing is left out between two.
    CONSTRAINT seals_one_follows UNIQUE (previous_number),
    CONSTRAINT seals_continue FOREIGN KEY (previous_number, posting_from, leaves_before, previous_root)
        REFERENCES seals (seal_number, posting_to, leaves, root),
    CONSTRAINT seals_follow CHECK (previous_number IS NOT DISTINCT FROM nullif(seal_number - 1, 0)
        AND (previous_root IS NULL) = (seal_number = 1)),
    CONSTRAINT seals_first CHECK (seal_number > 1 OR (posting_from = 0 AND leaves_before = 0)),
    CONSTRAINT seals_range CHECK (posting_to >= posting_from),
    CONSTRAINT seals_not_empty CHECK (leaves > leaves_before AND leaves - leaves_before >= unmoved),
    -- A tree consists of one perfect subtree for each bit set in its length.
    CONSTRAINT seals_frontier CHECK (cardinality(frontier) = bit_count(leaves::bit(64)))
);
COMMENT ON TABLE seals IS 'One row a round of sealing: the Merkle tree over all leaves so far (domain::merkle, domain::seal).';
COMMENT ON COLUMN seals.seal_number IS 'Order of sealing, from 1 without gaps.';
COMMENT ON COLUMN seals.previous_number IS 'The seal it continues; NULL for the first.';
COMMENT ON COLUMN seals.posting_from IS 'Transfers above this posting are its leaves; where the seal before ended.';
COMMENT ON COLUMN seals.posting_to IS 'Transfers up to this posting are its leaves; none of them can appear later.';
COMMENT ON COLUMN seals.leaves_before IS 'Leaves of the tree before it.';
COMMENT ON COLUMN seals.leaves IS 'Leaves of the tree with it: first its transfers in posting order, then its settlements without transfers by id.';
COMMENT ON COLUMN seals.unmoved IS 'How many of its leaves are settlements without transfers.';
COMMENT ON COLUMN seals.root IS 'Root hash of the tree (RFC 9162): it stands for every leaf so far.';
COMMENT ON COLUMN seals.previous_root IS 'Root of the seal it continues; NULL for the first.';
COMMENT ON COLUMN seals.frontier IS 'Roots of the perfect subtrees the tree consists of, largest first: what the next seal goes on from.';
COMMENT ON COLUMN seals.sealed_at IS 'When.';
COMMENT ON COLUMN seals.written_in IS 'Transaction that wrote it, for reading what is new.';
-- The seal of a posting is the first that ends at or after it.
CREATE INDEX seals_by_posting ON seals (posting_to, seal_number);
SELECT make_append_only('seals');

CREATE TABLE sealed_unmoved (
    tenant_id     uuid NOT NULL,
    settlement_id uuid NOT NULL,
    seal_number   bigint NOT NULL,
    CONSTRAINT sealed_unmoved_pkey PRIMARY KEY (tenant_id, settlement_id),
    CONSTRAINT sealed_unmoved_settlement FOREIGN KEY (tenant_id, settlement_id) REFERENCES settlements,
    CONSTRAINT sealed_unmoved_seal FOREIGN KEY (seal_number) REFERENCES seals
);
COMMENT ON TABLE sealed_unmoved IS 'Settlements without transfers have no posting: which seal each is in is written down, once.';
COMMENT ON COLUMN sealed_unmoved.tenant_id IS 'Tenant of the settlement.';
COMMENT ON COLUMN sealed_unmoved.settlement_id IS 'The settlement.';
COMMENT ON COLUMN sealed_unmoved.seal_number IS 'The seal it is a leaf of.';
CREATE INDEX sealed_unmoved_of ON sealed_unmoved (seal_number, settlement_id);
SELECT make_append_only('sealed_unmoved');

-- How far postings have been given out, whether or not their transactions have ended.
GRANT SELECT ON SEQUENCE transfers_posting_id_seq TO quittance_app;
-- Transfers are written in posting order, so a summary for each stretch of the table finds a range, and costs
-- posting next to nothing.
CREATE INDEX transfers_by_posting ON transfers USING brin (posting_id) WITH (pages_per_range = 32, autosummarize = on);
-- The few settlements that may have no transfers.
CREATE INDEX settlements_of_nothing ON settlements (settlement_id) WHERE amount = 0;
