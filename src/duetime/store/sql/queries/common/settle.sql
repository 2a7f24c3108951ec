-- Make waiting children due, or note why they cannot be. They are ours by their locks.
-- Index: primary key of actions.
UPDATE duetime_actions
SET due_at = settled_due_at, lane = settled_lane, error = settled_error
FROM {{settled_rows}}
WHERE id = settled_id AND token IS NULL
