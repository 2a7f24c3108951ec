-- Whether our tables are there; there is only one schema.
SELECT count(*), 1 FROM sqlite_master
WHERE type = 'table' AND name = :table
