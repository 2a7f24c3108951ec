-- Change the earliest due time of a waiting child. Index: primary key of actions.
UPDATE duetime_actions
SET
    after_at = coalesce(:due_at, :now + :delay),
    after_delay = NULL,
    modified_at = :now,
    modified_by = :by
WHERE id = :id AND due_at IS NULL
RETURNING CAST(after_at AS bigint)
