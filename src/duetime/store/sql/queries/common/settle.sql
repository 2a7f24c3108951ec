-- Make waiting children due, or note why they cannot be, or for whom they wait from now on. They
-- are ours by their locks.
-- Index: primary key of actions.
UPDATE duetime_actions
SET
    after = settled_after,
    after_on = settled_on,
    due_at = settled_due_at,
    lane = settled_lane,
    error = settled_error
FROM {{settled_rows}}
WHERE id = settled_id AND token IS NULL
