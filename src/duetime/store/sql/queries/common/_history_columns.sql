-- A record as rows.record() reads it, of a finished action.
CAST(h.id AS text), h.kind, h.version, h.payload, h.state,
h.queue, h.priority, h.tenant, h.correlation_id, h.key,
h.due_at, h.attempt, h.base_attempt, h.losses, CAST(h.token AS text), h.worker,
h.lease_until, h.started_at, h.progress, h.result, h.error, h.outcome,
h.job, h.tick, h.triggered_by, CAST(h.after AS text), h.after_on,
h.created_at, h.created_by, h.modified_at, h.modified_by, h.cancelled_by, h.finished_at
