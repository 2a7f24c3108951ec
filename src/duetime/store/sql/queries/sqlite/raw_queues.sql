-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT q.rowid, q.name, q.paused_at, q.paused_by, q.pause_note, q.paused_until
FROM duetime_queues AS q
WHERE q.rowid > :rowid
ORDER BY q.rowid
LIMIT :window
