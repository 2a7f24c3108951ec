-- Jobs of an app whose next tick is long after now, locked until commit; skips jobs that other
-- transactions have locked. Index: primary key of jobs, or jobs_due.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.next_due_at > :now + :ahead AND a.name > :beyond_name
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.name
LIMIT :limit
{{skip_locked}}
