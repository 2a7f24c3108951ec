-- Delete scheduled actions that were copied to history. Index: primary key of actions.
DELETE FROM duetime_actions
WHERE token IS NULL AND id IN ({{ids}})
RETURNING CAST(id AS text)
