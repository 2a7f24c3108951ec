-- Which jobs a worker declares, as a list in JSON; older code leaves it empty.

ALTER TABLE duetime_workers ADD COLUMN jobs text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (3, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
