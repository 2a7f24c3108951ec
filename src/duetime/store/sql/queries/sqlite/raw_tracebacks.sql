-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT t.rowid, t.action_id, t.run_id, t.kept_at, t.traceback
FROM duetime_tracebacks AS t
WHERE t.rowid > :rowid
ORDER BY t.rowid
LIMIT :window
