-- Copy completed actions to history, if the token is the stored one. Index: primary key.
INSERT INTO duetime_history (
    {{moved_columns}},
    base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
    attempt, losses, started_at, state, outcome, result, error, error_group, cancelled_by,
    finished_at
)
SELECT
    {{moved_columns}},
    base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
    attempt - ending_refund, min(losses + ending_lost, 32767),
    CASE WHEN ending_refund = 0 THEN coalesce(ending_started_at, started_at) END,
    ending_state, ending_outcome, ending_result, ending_error, ending_error_group,
    ending_cancelled_by, :now
FROM {{completion_rows}}
INNER JOIN duetime_actions AS a ON a.id = e.ending_id AND a.token = e.ending_token
WHERE
    a.token IS NOT NULL
    AND a.lease_until <= :now -- if :rescuing
