-- The columns that an action keeps when it moves between unfinished and finished.
id, due_at, expires_at, created_at, tick, after_at, after_delay, version, priority, after, kind,
queue, tenant, correlation_id, key, job, triggered_by, after_on, created_by, trace, payload
