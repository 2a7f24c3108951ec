-- Why and from where something was changed. Older code leaves both columns empty. The index by time
-- is built apart, since that takes long where there are many entries.

ALTER TABLE duetime_audit ADD COLUMN note text;

ALTER TABLE duetime_audit ADD COLUMN source text;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (7, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
