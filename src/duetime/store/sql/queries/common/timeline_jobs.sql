-- The jobs whose next tick is before an instant, the soonest first. Index: jobs_due.
SELECT CAST(j.record AS text), :now, CAST(j.name AS text)
FROM duetime_jobs AS j
WHERE
    j.next_due_at < :until
    AND j.tenant = :tenant -- if :tenant
    AND j.tenant IS NULL -- if :untenanted
ORDER BY j.next_due_at, j.name
LIMIT :limit
