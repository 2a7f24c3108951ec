-- Why and from where something was changed, and entries found by time, whatever their subject.
-- Older code leaves both columns empty.

ALTER TABLE duetime_audit ADD COLUMN note text;

ALTER TABLE duetime_audit ADD COLUMN source text;

CREATE INDEX duetime_audit_at ON duetime_audit (at, id);

INSERT INTO duetime_migrations (version, applied_at, oldest_code)
VALUES (7, CAST((julianday('now') - 2440587.5) * 86400000000 AS integer), 1);
