-- Move a scheduled action to a lane from which no worker claims. Index: primary key of actions.
UPDATE duetime_actions
SET lane = :lane, error = :reason
WHERE token IS NULL AND due_at IS NOT NULL AND id = :id
RETURNING CAST(id AS text)
