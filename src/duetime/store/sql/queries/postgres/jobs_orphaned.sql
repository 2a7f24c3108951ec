-- Declared jobs of an app that none of its live workers declares, locked until commit; skips jobs
-- that other transactions have locked. Index: none; there are few jobs, read once a minute.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.declared = 1 AND a.retired_at IS NULL AND a.removed_at IS NULL
    AND a.name NOT IN (
        SELECT json_array_elements_text(CAST(coalesce(w.jobs, w.kinds) AS json))
        FROM duetime_workers AS w
        WHERE w.app = :app AND w.seen_at > :now - :alive
    )
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.name
LIMIT :limit
{{skip_locked}}
