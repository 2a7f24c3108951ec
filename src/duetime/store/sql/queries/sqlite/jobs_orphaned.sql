-- Declared jobs of an app that none of its live workers declares. Index: none; there are few jobs,
-- read once a minute.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.declared = 1 AND a.retired_at IS NULL AND a.removed_at IS NULL
    AND a.name NOT IN (
        SELECT k.value
        FROM duetime_workers AS w, json_each(coalesce(w.jobs, w.kinds)) AS k
        WHERE w.app = :app AND w.seen_at > :now - :alive
    )
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.name
LIMIT :limit
