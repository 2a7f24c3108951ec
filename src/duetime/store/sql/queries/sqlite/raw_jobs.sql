-- A window of all rows in the order of rowids: of each its rowid, and the columns that this version
-- knows, in the order of `known_columns.py`.
SELECT
    j.rowid, j.name, j.app, j.tenant, j.declared, j.next_due_at, j.retired_at, j.removed_at,
    j.record
FROM duetime_jobs AS j
WHERE j.rowid > :rowid
ORDER BY j.rowid
LIMIT :window
