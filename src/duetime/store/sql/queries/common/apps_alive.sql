-- The apps of which a worker lives. Index: none; there are few workers.
SELECT DISTINCT CAST(w.app AS text)
FROM duetime_workers AS w
WHERE w.seen_at > :now - :alive
