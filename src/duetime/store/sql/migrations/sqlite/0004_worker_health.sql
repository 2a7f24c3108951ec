-- What a worker cannot do at present, in JSON; empty for a healthy one and for older code.

ALTER TABLE duetime_workers ADD COLUMN health text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (4, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
