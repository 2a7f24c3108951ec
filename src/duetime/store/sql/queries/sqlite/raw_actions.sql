-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    a.rowid, a.id, a.due_at, a.expires_at, a.lease_until, a.started_at, a.created_at, a.modified_at,
    a.tick, a.after_at, a.after_delay, a.version, a.attempt, a.base_attempt, a.priority, a.losses,
    a.token, a.after, a.kind, a.lane, a.queue, a.tenant, a.correlation_id, a.key, a.worker,
    a.stop_by, a.job, a.triggered_by, a.after_on, a.created_by, a.modified_by, a.trace, a.error,
    a.progress, a.payload
FROM duetime_actions AS a
WHERE a.rowid > :rowid
ORDER BY a.rowid
LIMIT :window
