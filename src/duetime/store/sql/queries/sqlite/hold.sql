-- Whoever writes holds the whole database.
SELECT 1
