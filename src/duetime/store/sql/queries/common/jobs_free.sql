-- Jobs by their names, held until we commit, except what others hold. Index: primary key of jobs.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE a.name IN ({{names}})
ORDER BY a.name
{{skip_locked}}
