-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    r.rowid, r.id, r.action_id, r.due_at, r.started_at, r.finished_at, r.lease_until,
    r.attempt, r.worker, r.outcome, r.result, r.error
FROM duetime_runs AS r
WHERE r.rowid > :rowid
ORDER BY r.rowid
LIMIT :window
