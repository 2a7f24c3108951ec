-- What a worker cannot do at present, in JSON; empty for a healthy one and for older code.

ALTER TABLE duetime_workers ADD COLUMN health text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (4, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
