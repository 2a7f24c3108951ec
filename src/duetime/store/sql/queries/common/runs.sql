-- The earlier runs of an action, oldest first. Index: runs_action.
SELECT
    CAST(r.id AS text), CAST(r.action_id AS text), r.attempt, r.worker, r.due_at, r.started_at,
    r.finished_at, r.lease_until, r.outcome, r.result, r.error
FROM duetime_runs AS r
WHERE r.action_id = :id
ORDER BY r.seq
