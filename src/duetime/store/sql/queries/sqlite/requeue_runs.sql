-- Copy the runs that are completed to the earlier runs. Index: primary key of actions.
INSERT INTO duetime_runs (
    id, action_id, due_at, started_at, finished_at, lease_until, attempt, worker, outcome,
    result, error
)
SELECT
    a.token, a.id, a.due_at, coalesce(e.ending_started_at, a.started_at), :now, a.lease_until,
    a.attempt, a.worker, e.ending_outcome, e.ending_result, e.ending_error
FROM {{completion_rows}}
INNER JOIN duetime_actions AS a ON a.id = e.ending_id AND a.token = e.ending_token
WHERE
    a.token IS NOT NULL
    AND a.lease_until <= :now -- if :rescuing
