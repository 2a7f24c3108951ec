-- A record as rows.record() reads it, of an unfinished action.
CAST(a.id AS text), a.kind, a.version, a.payload,
CASE WHEN a.token IS NULL THEN 'scheduled' ELSE 'running' END,
a.queue, a.priority, a.tenant, a.correlation_id, a.key,
a.due_at, a.attempt, a.base_attempt, a.losses, CAST(a.token AS text), a.worker,
CASE WHEN a.token IS NOT NULL THEN a.lease_until END,
a.started_at, a.progress, NULL, a.error, NULL,
a.job, a.tick, a.triggered_by, CAST(a.after AS text), a.after_on,
a.created_at, a.created_by, a.modified_at, a.modified_by, NULL, CAST(NULL AS bigint)
