-- The unfinished occurrences of these jobs, oldest first. Ties are broken by id, which is as
-- accurate as the clock of the process that made it. Index: actions_job.
SELECT
    CAST(a.job AS text), CAST(a.id AS text), CASE WHEN a.token IS NULL THEN 0 ELSE 1 END,
    CASE WHEN a.due_at IS NULL THEN CAST(a.after AS text) END,
    CAST(a.tick AS bigint), CAST(a.triggered_by AS text), CAST(a.started_at AS bigint)
FROM duetime_actions AS a
WHERE
    a.job IN ({{names}})
    AND a.tenant = :tenant -- if :tenant
    AND a.tenant IS NULL -- if :untenanted
ORDER BY a.created_at, a.id
