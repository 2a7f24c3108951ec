-- The instant after which no run of an action may start. Without an index: no statement searches by
-- it, and actions that do not expire cost nothing.

ALTER TABLE duetime_actions ADD COLUMN expires_at integer;

ALTER TABLE duetime_history ADD COLUMN expires_at integer;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (6, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
