-- Whether the migrations table exists; there is only one schema.
SELECT count(*), 1 FROM sqlite_master
WHERE type = 'table' AND name = :table
