-- A page by its number instead of by its key.
SELECT * FROM transfers ORDER BY posting_id DESC OFFSET (SELECT count(*) * 9 / 10 FROM transfers) LIMIT 51;
