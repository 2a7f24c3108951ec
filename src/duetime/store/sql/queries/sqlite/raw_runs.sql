-- A window of all rows, each with its rowid and all columns, in the order of rowids.
SELECT r.rowid, r.*
FROM duetime_runs AS r
WHERE r.rowid > :rowid
ORDER BY r.rowid
LIMIT :window
