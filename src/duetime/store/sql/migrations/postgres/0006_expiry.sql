-- The instant after which no run of an action may start. Without an index: no statement searches by
-- it, and actions that do not expire cost nothing.

ALTER TABLE duetime_actions ADD COLUMN expires_at bigint;

ALTER TABLE duetime_history ADD COLUMN expires_at bigint;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (6, CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint), 1);
