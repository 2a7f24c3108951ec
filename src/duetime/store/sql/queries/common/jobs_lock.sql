-- Jobs by name, locked until commit. Index: primary key of jobs.
SELECT CAST(a.record AS text), :now, CAST(a.name AS text)
FROM duetime_jobs AS a
WHERE
    a.name IN ({{names}})
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
ORDER BY a.name
{{for_update}}
