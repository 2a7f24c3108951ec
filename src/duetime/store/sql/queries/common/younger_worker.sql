-- Whether a live worker of the same app that declares jobs is younger than this one.
-- Index: primary key of workers; the others are few.
SELECT CAST(w.id AS text)
FROM duetime_workers AS w, duetime_workers AS p
WHERE
    p.id = :worker AND w.app = p.app AND w.seen_at > :now - :alive
    AND w.jobs <> '[]'
    AND (w.started_at > p.started_at OR (w.started_at = p.started_at AND w.id > p.id))
LIMIT 1
