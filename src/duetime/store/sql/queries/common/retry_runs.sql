-- Copy the last runs of retried actions to the earlier runs. Index: primary key of history.
INSERT INTO duetime_runs (
    id, action_id, due_at, started_at, finished_at, lease_until, attempt, worker, outcome,
    result, error
)
SELECT
    token, id, due_at, started_at, finished_at, lease_until, attempt, worker, outcome,
    result, error
FROM duetime_history
WHERE token IS NOT NULL AND id IN ({{ids}})
