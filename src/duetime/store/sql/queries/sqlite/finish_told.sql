-- How many endings history has just taken, and for which of them children wait: asked of each only
-- if children wait for any of these or their neighbours. Index: actions_after.
SELECT
    changes(),
    (
        SELECT json_group_array(DISTINCT c.after)
        FROM duetime_actions AS c
        WHERE
            c.due_at IS NULL AND c.after BETWEEN :lowest AND :highest
            AND +c.after IN (SELECT e.ending_id FROM {{endings}})
    )
