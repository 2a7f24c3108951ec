-- The names of an app's jobs. Index: none; there are few jobs.
SELECT CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE a.app = :app
