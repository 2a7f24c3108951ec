-- The write lock covers the whole database.
SELECT 1
