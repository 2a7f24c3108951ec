-- Insert jobs whose name is free. Index: primary key of jobs.
INSERT INTO duetime_jobs (
    name, app, tenant, declared, next_due_at, retired_at, removed_at, record
)
SELECT
    n.job_name, n.app, n.tenant, n.declared, n.next_due_at, n.retired_at, n.removed_at, n.record
FROM {{job_rows}}
WHERE n.job_name IS NOT NULL
ORDER BY n.job_name
ON CONFLICT DO NOTHING
RETURNING CAST(name AS text)
