-- How many endings history has just taken, and whether children wait for any of these or their
-- neighbours. Index: actions_after.
SELECT
    changes(),
    EXISTS (
        SELECT 1 FROM duetime_actions AS c
        WHERE c.due_at IS NULL AND c.after BETWEEN :lowest AND :highest
    )
