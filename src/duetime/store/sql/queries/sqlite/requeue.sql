-- Make actions scheduled again if the token is the stored one. Index: primary key of actions.
UPDATE duetime_actions
SET
    token = NULL,
    worker = NULL,
    lease_until = 0,
    started_at = NULL,
    progress = NULL,
    stop_by = NULL,
    error = ending_error,
    lane = coalesce(ending_lane, lane),
    due_at = coalesce(:now + ending_delay, due_at),
    attempt = attempt - ending_refund,
    losses = min(losses + ending_lost, 32767)
FROM {{completion_rows}}
WHERE
    id = ending_id AND token = ending_token
    AND lease_until <= :now -- if :rescuing
RETURNING id, lane, due_at, :now
