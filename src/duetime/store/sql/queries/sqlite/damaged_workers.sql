-- Live workers of an app whose list of jobs is not what a worker writes: a JSON array of texts.
-- Index: none; there are few workers, read once a minute.
SELECT CAST(w.id AS text)
FROM duetime_workers AS w
WHERE
    w.app = :app AND w.seen_at > :now - :alive
    AND w.id = :worker -- if :worker
    AND CASE
        WHEN typeof(coalesce(w.jobs, w.kinds)) <> 'text' THEN 1
        WHEN NOT json_valid(coalesce(w.jobs, w.kinds)) THEN 1
        WHEN json_type(coalesce(w.jobs, w.kinds)) <> 'array' THEN 1
        ELSE EXISTS (SELECT 1 FROM json_each(coalesce(w.jobs, w.kinds)) WHERE type <> 'text')
    END
