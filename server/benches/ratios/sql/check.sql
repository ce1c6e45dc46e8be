SELECT (SELECT count(*) FROM settlements WHERE phase = 'capture') - (SELECT count(*) FROM bench.work) AS missing,
       (SELECT count(*) FROM balances b JOIN (
            SELECT tenant_id, account_id, sum(amount) AS total FROM (
                SELECT tenant_id, credit_account_id AS account_id, amount FROM transfers
                UNION ALL SELECT tenant_id, debit_account_id, -amount FROM transfers) sides GROUP BY 1, 2) t
            USING (tenant_id, account_id) WHERE b.balance <> t.total) AS broken
