-- When the next tick of an app is due, except those of jobs in :names. Index: jobs_due.
SELECT CAST(min(j.next_due_at) AS bigint), :now
FROM duetime_jobs AS j
WHERE
    j.app = :app AND j.next_due_at IS NOT NULL
    AND j.name NOT IN ({{names}}) -- if :names
