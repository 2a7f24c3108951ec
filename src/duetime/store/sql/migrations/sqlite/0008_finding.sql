-- What a failure has in common with others whose texts differ in ids and values only; empty for
-- other outcomes, and for failures of older code. And indexes by which actions are found: other
-- processes wait a moment for them, as for any writer; on PostgreSQL they are built one by one later.

ALTER TABLE duetime_history ADD COLUMN error_group text;

CREATE INDEX duetime_actions_tenant ON duetime_actions (tenant, id)
WHERE tenant IS NOT NULL;

CREATE INDEX duetime_actions_by_key ON duetime_actions (key)
WHERE key IS NOT NULL;

CREATE INDEX duetime_actions_children ON duetime_actions (after)
WHERE after IS NOT NULL;

CREATE INDEX duetime_history_tenant ON duetime_history (tenant, id)
WHERE tenant IS NOT NULL;

CREATE INDEX duetime_history_key ON duetime_history (key)
WHERE key IS NOT NULL;

CREATE INDEX duetime_history_children ON duetime_history (after)
WHERE after IS NOT NULL;

CREATE INDEX duetime_history_failed ON duetime_history (id)
WHERE state = 'failed';

CREATE INDEX duetime_history_error_group ON duetime_history (error_group, finished_at)
WHERE error_group IS NOT NULL;

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (8, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
