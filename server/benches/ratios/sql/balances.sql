-- The least that a check of the books can be: the sum of each account's transfers against its balance.
SET max_parallel_workers_per_gather = 0;
SELECT count(*) FROM balances b JOIN (
    SELECT account_id, sum(change) AS total FROM (
        SELECT debit_account_id AS account_id, -amount AS change FROM transfers
        UNION ALL SELECT credit_account_id, amount FROM transfers) sides GROUP BY 1) t USING (account_id)
WHERE b.balance <> t.total;
RESET max_parallel_workers_per_gather;
