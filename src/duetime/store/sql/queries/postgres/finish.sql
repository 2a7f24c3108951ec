-- Move completed actions to history if the token is the stored one. Returns how many were moved,
-- which ones if fewer than :limit, and those for which children wait: each is checked only if any
-- child waits for an id between the lowest and the highest. The result is built from the deleted
-- rows, all of which are inserted: returning the inserted rows, too, takes a tenth of the time.
-- Indexes: primary key of actions, actions_after.
WITH ended AS (
    DELETE FROM duetime_actions AS a
    USING {{completion_rows}}
    WHERE
        a.id = e.ending_id AND a.token = e.ending_token
        AND a.lease_until <= :now -- if :rescuing
    RETURNING a.*, e.*
),
moved AS (
    INSERT INTO duetime_history (
        {{moved_columns}},
        base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
        attempt, losses, started_at, state, outcome, result, error, error_group, cancelled_by,
        finished_at
    )
    SELECT
        {{moved_columns}},
        base_attempt, token, worker, lease_until, progress, modified_at, modified_by,
        greatest(attempt, -2147483647) - ending_refund, least(losses + ending_lost, 32767),
        CASE WHEN ending_refund = 0 THEN coalesce(ending_started_at, started_at) END,
        ending_state, ending_outcome, ending_result, ending_error, ending_error_group,
        ending_cancelled_by, :now
    FROM ended
)
SELECT
    count(*),
    CASE WHEN count(*) < :limit THEN CAST(array_agg(e.id) AS text) END,
    CASE
        WHEN EXISTS (
            SELECT 1 FROM duetime_actions AS w
            WHERE w.due_at IS NULL AND w.after BETWEEN :lowest AND :highest
        )
            THEN (
                SELECT CAST(array_agg(x.id) AS text)
                FROM ended AS x
                WHERE EXISTS (
                    SELECT 1 FROM duetime_actions AS c
                    WHERE c.due_at IS NULL AND c.after = x.id
                )
            )
    END
FROM ended AS e
