-- How many actions the previous statement copied to history, and whether children wait for an id
-- between the lowest and the highest. Index: actions_after.
SELECT
    changes(),
    EXISTS (
        SELECT 1
        FROM duetime_actions AS c INDEXED BY duetime_actions_after
        WHERE c.due_at IS NULL AND c.after BETWEEN :lowest AND :highest
    )
