-- A page of jobs, in the order of their names. Index: primary key of jobs.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.name > :beyond_name
    AND a.name = :job_name -- if :job_name
    AND a.removed_at IS NULL -- if :kept
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
ORDER BY a.name
LIMIT :limit
