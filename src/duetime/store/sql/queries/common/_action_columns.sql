-- A record of an unfinished action, as records.record() reads it. All columns are cast: a caller's
-- connection may convert plain columns by their declared type. What is long may be lost.
CAST(a.id AS text), CAST(a.kind AS text), CAST(a.version AS integer),
CAST(a.payload AS text), -- unless :without_data
'null', -- if :without_data
CASE WHEN a.token IS NULL THEN 'scheduled' ELSE 'running' END,
CAST(a.queue AS text), CAST(a.priority AS integer), CAST(a.tenant AS text),
CAST(a.correlation_id AS text), CAST(a.key AS text),
CAST(a.due_at AS bigint), CAST(a.attempt AS integer), CAST(a.base_attempt AS integer),
CAST(a.losses AS integer), CAST(a.token AS text), CAST(a.worker AS text),
CASE WHEN a.token IS NOT NULL THEN a.lease_until END,
CAST(a.started_at AS bigint),
CAST(a.progress AS text), NULL, CAST(a.error AS text), NULL, -- unless :without_data
NULL, NULL, NULL, NULL, -- if :without_data
CAST(a.job AS text), CAST(a.tick AS bigint), CAST(a.triggered_by AS text),
CAST(a.after AS text), CAST(a.after_on AS text), CAST(a.after_at AS bigint),
CAST(a.after_delay AS bigint), CAST(a.expires_at AS bigint),
CAST(a.created_at AS bigint), CAST(a.created_by AS text), CAST(a.modified_at AS bigint),
CAST(a.modified_by AS text), NULL, CAST(NULL AS bigint), NULL, CAST(a.trace AS text)
