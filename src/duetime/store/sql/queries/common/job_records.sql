-- Jobs by name. Index: primary key of jobs.
SELECT CAST(a.record AS text)
FROM duetime_jobs AS a
WHERE a.name IN ({{names}})
