-- Replace the damaged values of an earlier run, unless a constraint refuses the row.
UPDATE OR IGNORE duetime_runs
SET
    id = :row ->> 'id',
    action_id = :row ->> 'action_id',
    due_at = :row ->> 'due_at',
    started_at = :row ->> 'started_at',
    finished_at = :row ->> 'finished_at',
    lease_until = :row ->> 'lease_until',
    attempt = :row ->> 'attempt',
    worker = :row ->> 'worker',
    outcome = :row ->> 'outcome',
    result = :row ->> 'result',
    error = :row ->> 'error'
WHERE rowid = :rowid
RETURNING rowid
