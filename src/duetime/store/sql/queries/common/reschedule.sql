-- Change the due time of a scheduled action. Index: primary key of actions.
UPDATE duetime_actions
SET due_at = coalesce(:due_at, :now + :delay), modified_at = :now, modified_by = :by
WHERE id = :id AND token IS NULL
RETURNING CAST(due_at AS bigint)
