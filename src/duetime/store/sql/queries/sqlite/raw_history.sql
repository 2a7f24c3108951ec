-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    h.rowid, h.id, h.due_at, h.expires_at, h.lease_until, h.started_at, h.finished_at, h.created_at,
    h.modified_at, h.tick, h.after_at, h.after_delay, h.version, h.attempt, h.base_attempt,
    h.priority, h.losses, h.token, h.after, h.kind, h.state, h.outcome, h.queue, h.tenant,
    h.correlation_id, h.key, h.worker, h.job, h.triggered_by, h.after_on, h.created_by,
    h.modified_by, h.cancelled_by, h.trace, h.error, h.error_group, h.result, h.progress,
    h.payload
FROM duetime_history AS h
WHERE h.rowid > :rowid
ORDER BY h.rowid
LIMIT :window
