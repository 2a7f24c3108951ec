-- Move ended actions to history if the token is the stored one. Index: primary key of actions.
WITH ended AS (
    DELETE FROM duetime_actions AS a
    USING {{endings}}
    WHERE
        a.id = e.ending_id AND a.token = e.ending_token
        AND a.lease_until <= :now -- if :rescuing
    RETURNING a.*, e.*
)
INSERT INTO duetime_history (
    {{carried}},
    base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
    losses, started_at, state, outcome, result, error, cancelled_by, finished_at
)
SELECT
    {{carried}},
    base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
    losses + ending_lost, coalesce(ending_started_at, started_at), ending_state,
    ending_outcome, ending_result, ending_error, ending_cancelled_by, :now
FROM ended
RETURNING id
