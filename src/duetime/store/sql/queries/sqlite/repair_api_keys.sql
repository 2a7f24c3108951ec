-- Replace the damaged id of an API key, unless a constraint refuses the row.
UPDATE OR IGNORE duetime_api_keys
SET id = :row ->> 'id'
WHERE rowid = :rowid
RETURNING rowid
