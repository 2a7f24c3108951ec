-- Retired jobs of an app that one of its workers declares, locked until commit; skips jobs that
-- other transactions have locked. Index: none; there are few jobs, read once a minute.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.declared = 1 AND a.retired_at IS NOT NULL AND a.removed_at IS NULL
    AND a.name IN (
        SELECT json_array_elements_text(CAST(w.jobs AS json))
        FROM duetime_workers AS w
        WHERE w.id = :worker
    )
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.name
LIMIT :limit
{{skip_locked}}
