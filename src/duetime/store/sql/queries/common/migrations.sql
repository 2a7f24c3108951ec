-- What was applied, and the oldest code that may use it.
SELECT m.version, m.oldest_code FROM duetime_migrations AS m
