-- Make actions scheduled again if the token is the stored one. Index: primary key of actions.
WITH held AS MATERIALIZED (
    SELECT a.*, e.*
    FROM {{completion_rows}}
    INNER JOIN duetime_actions AS a ON a.id = e.ending_id AND a.token = e.ending_token
    WHERE
        a.token IS NOT NULL
        AND a.lease_until <= :now -- if :rescuing
    FOR UPDATE OF a
),
noted AS (
    INSERT INTO duetime_runs (
        id, action_id, due_at, started_at, finished_at, lease_until, attempt, worker, outcome,
        result, error
    )
    SELECT
        token, id, due_at, coalesce(ending_started_at, started_at), :now, lease_until, attempt,
        worker, ending_outcome, ending_result, ending_error
    FROM held
)
UPDATE duetime_actions AS a
SET
    token = NULL,
    worker = NULL,
    lease_until = 0,
    started_at = NULL,
    progress = NULL,
    stop_by = NULL,
    error = h.ending_error,
    lane = coalesce(h.ending_lane, h.lane),
    due_at = coalesce(:now + h.ending_delay, h.due_at),
    attempt = greatest(h.attempt, -2147483647) - h.ending_refund,
    losses = least(h.losses + h.ending_lost, 32767)
FROM held AS h
WHERE a.id = h.ending_id AND a.token = h.ending_token
RETURNING a.id, a.lane, a.due_at, :now
