-- Retired jobs of an app that one of its workers declares. Index: none; there are few jobs, read
-- once a minute.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.app = :app AND a.declared = 1 AND a.retired_at IS NOT NULL AND a.removed_at IS NULL
    AND a.name IN (
        SELECT k.value
        FROM duetime_workers AS w, json_each(w.jobs) AS k
        WHERE w.id = :worker
    )
    AND a.name NOT IN ({{names}}) -- if :names
ORDER BY a.name
LIMIT :limit
