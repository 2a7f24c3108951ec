-- Jobs of an app that are armed for long after now, held until we commit, except what others hold.
-- Index: primary key of jobs, or jobs_due.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE a.app = :app AND a.next_due_at > :now + :ahead AND a.name > :beyond_name
ORDER BY a.name
LIMIT :limit
{{skip_locked}}
