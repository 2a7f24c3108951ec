-- The newest unfinished occurrences of a job. Index: actions_job.
SELECT {{action_columns}}
FROM duetime_actions AS a
WHERE
    a.job = :job_name
    AND (a.created_at, a.id) < (:follows_at, :follows_id) -- if :follows_at
ORDER BY a.created_at DESC, a.id DESC
LIMIT :limit
