-- Apps that have a live worker. Index: none; there are few workers.
SELECT DISTINCT CAST(w.app AS text)
FROM duetime_workers AS w
WHERE w.seen_at > :now - :alive
