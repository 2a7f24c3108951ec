-- A window of all rows, each with its rowid and all columns, in the order of rowids.
SELECT j.rowid, j.*
FROM duetime_jobs AS j
WHERE j.rowid > :rowid
ORDER BY j.rowid
LIMIT :window
