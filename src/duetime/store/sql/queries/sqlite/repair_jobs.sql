-- Replace the damaged values of a job, unless a constraint refuses the row.
UPDATE OR IGNORE duetime_jobs
SET
    name = :row ->> 'name',
    app = :row ->> 'app',
    tenant = :row ->> 'tenant',
    declared = :row ->> 'declared',
    next_due_at = :row ->> 'next_due_at',
    retired_at = :row ->> 'retired_at',
    removed_at = :row ->> 'removed_at',
    record = :row ->> 'record'
WHERE rowid = :rowid
RETURNING rowid
