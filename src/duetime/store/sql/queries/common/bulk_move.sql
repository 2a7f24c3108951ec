-- Change the due times of scheduled actions, and the earliest due times of waiting children, which
-- this transaction has locked. Index: primary key of actions.
UPDATE duetime_actions
SET
    due_at = CASE WHEN due_at IS NOT NULL THEN r.new_due_at END,
    after_at = CASE WHEN due_at IS NULL THEN r.new_due_at ELSE after_at END,
    after_delay = CASE WHEN due_at IS NOT NULL THEN after_delay END,
    modified_at = :now,
    modified_by = :by
FROM {{due_rows}}
WHERE id = r.action_id AND token IS NULL
