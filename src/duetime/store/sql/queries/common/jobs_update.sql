-- Update jobs, which this transaction has locked. Index: primary key of jobs.
UPDATE duetime_jobs
SET
    app = n.app,
    tenant = n.tenant,
    next_due_at = n.next_due_at,
    retired_at = n.retired_at,
    removed_at = n.removed_at,
    record = n.record
FROM {{job_rows}}
WHERE name = n.job_name
