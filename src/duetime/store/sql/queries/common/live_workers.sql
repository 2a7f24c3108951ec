-- The ids of an app's live workers. Index: none; there are few workers.
SELECT CAST(w.id AS text)
FROM duetime_workers AS w
WHERE w.app = :app AND w.seen_at > :now - :alive
