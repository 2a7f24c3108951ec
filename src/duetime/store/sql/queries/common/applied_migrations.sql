-- The migrations that were applied, and the oldest code that may use each.
SELECT CAST(m.version AS integer), CAST(m.oldest_code AS integer) FROM duetime_migrations AS m
