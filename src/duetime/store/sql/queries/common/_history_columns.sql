-- A record of a finished action, as records.record() reads it; cast as in `_action_columns.sql`.
CAST(h.id AS text), CAST(h.kind AS text), CAST(h.version AS integer),
CAST(h.payload AS text), -- unless :without_data
'null', -- if :without_data
CAST(h.state AS text),
CAST(h.queue AS text), CAST(h.priority AS integer), CAST(h.tenant AS text),
CAST(h.correlation_id AS text), CAST(h.key AS text),
CAST(h.due_at AS bigint), CAST(h.attempt AS integer), CAST(h.base_attempt AS integer),
CAST(h.losses AS integer), CAST(h.token AS text), CAST(h.worker AS text),
CAST(h.lease_until AS bigint), CAST(h.started_at AS bigint),
CAST(h.progress AS text), CAST(h.result AS text), CAST(h.error AS text), -- unless :without_data
NULL, NULL, NULL, -- if :without_data
CAST(h.outcome AS text),
CAST(h.job AS text), CAST(h.tick AS bigint), CAST(h.triggered_by AS text),
CAST(h.after AS text), CAST(h.after_on AS text), CAST(h.after_at AS bigint),
CAST(h.after_delay AS bigint), CAST(h.expires_at AS bigint),
CAST(h.created_at AS bigint), CAST(h.created_by AS text), CAST(h.modified_at AS bigint),
CAST(h.modified_by AS text), CAST(h.cancelled_by AS text), CAST(h.finished_at AS bigint),
CAST(h.error_group AS text), CAST(h.trace AS text)
