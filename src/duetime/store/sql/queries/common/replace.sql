-- Replace the content of a scheduled action. Index: primary key of actions.
UPDATE duetime_actions
SET
    version = :version,
    payload = :payload,
    queue = :queue,
    priority = :priority,
    correlation_id = :correlation_id,
    lane = :lane,
    due_at = coalesce(:due_at, :now + :delay),
    expires_at = :expires_at,
    trace = :trace,
    after = :after,
    after_on = :after_on,
    after_at = :after_at,
    after_delay = :after_delay,
    attempt = 0,
    base_attempt = 0,
    losses = 0,
    error = NULL,
    modified_at = :now,
    modified_by = :by
WHERE id = :id AND token IS NULL
RETURNING CAST(id AS text), CAST(due_at AS bigint), CAST(modified_at AS bigint)
