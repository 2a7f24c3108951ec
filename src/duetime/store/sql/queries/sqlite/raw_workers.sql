-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    w.rowid, w.id, w.app, w.host, w.pid, w.kinds, w.queues, w.concurrency, w.started_at,
    w.seen_at, w.jobs, w.health, w.code_version, w.slots, w.figures_added
FROM duetime_workers AS w
WHERE w.rowid > :rowid
ORDER BY w.rowid
LIMIT :window
