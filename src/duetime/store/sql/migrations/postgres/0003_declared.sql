-- Which jobs a worker declares, as a list in JSON; older code leaves it empty.

ALTER TABLE duetime_workers ADD COLUMN jobs text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (3, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
