-- Jobs of an app whose tick is due, except those in :names, locked until commit; skips jobs that
-- other transactions have locked. Index: jobs_due.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.next_due_at <= :now
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.next_due_at
LIMIT :limit
{{skip_locked}}
