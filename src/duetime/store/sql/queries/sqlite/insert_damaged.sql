-- Insert a finished action whose damaged values were replaced, unless a constraint refuses the row,
-- as where its id is taken. Index: primary key of history.
INSERT OR IGNORE INTO duetime_history (
    id, due_at, expires_at, lease_until, started_at, finished_at, created_at, modified_at, tick,
    after_at, after_delay, version, attempt, base_attempt, priority, losses, token, after, kind,
    state, outcome, queue, tenant, correlation_id, key, worker, job, triggered_by, after_on,
    created_by, modified_by, cancelled_by, trace, error, error_group, result, progress, payload
)
SELECT
    :row ->> 'id', :row ->> 'due_at', :row ->> 'expires_at', :row ->> 'lease_until',
    :row ->> 'started_at',
    :row ->> 'finished_at', :row ->> 'created_at', :row ->> 'modified_at', :row ->> 'tick',
    :row ->> 'after_at', :row ->> 'after_delay', :row ->> 'version', :row ->> 'attempt',
    :row ->> 'base_attempt', :row ->> 'priority', :row ->> 'losses', :row ->> 'token',
    :row ->> 'after', :row ->> 'kind', :row ->> 'state', :row ->> 'outcome', :row ->> 'queue',
    :row ->> 'tenant', :row ->> 'correlation_id', :row ->> 'key', :row ->> 'worker',
    :row ->> 'job', :row ->> 'triggered_by', :row ->> 'after_on', :row ->> 'created_by',
    :row ->> 'modified_by', :row ->> 'cancelled_by', :row ->> 'trace', :row ->> 'error',
    :row ->> 'error_group',
    :row ->> 'result', :row ->> 'progress', :row ->> 'payload'
RETURNING id
