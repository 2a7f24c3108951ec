-- The names among these that jobs have. Index: primary key of jobs.
SELECT CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE a.name IN ({{names}})
