-- Replace the damaged id of a grant, unless a constraint refuses the row.
UPDATE OR IGNORE duetime_grants
SET id = :row ->> 'id'
WHERE rowid = :rowid
RETURNING rowid
