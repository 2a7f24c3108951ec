-- The newest earlier runs of an action, newest first. Index: runs_action.
SELECT
    CAST(r.id AS text), CAST(r.action_id AS text), CAST(r.attempt AS integer),
    CAST(r.worker AS text), CAST(r.due_at AS bigint), CAST(r.started_at AS bigint),
    CAST(r.finished_at AS bigint), CAST(r.lease_until AS bigint), CAST(r.outcome AS text),
    CAST(r.result AS text), CAST(r.error AS text)
FROM duetime_runs AS r
WHERE
    r.action_id = :id
    AND r.seq < (SELECT b.seq FROM duetime_runs AS b WHERE b.id = :before) -- if :before
ORDER BY r.seq DESC
LIMIT :limit
