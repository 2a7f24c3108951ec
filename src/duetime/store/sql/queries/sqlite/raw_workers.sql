-- A window of all rows, each with its rowid and all columns, in the order of rowids.
SELECT w.rowid, w.*
FROM duetime_workers AS w
WHERE w.rowid > :rowid
ORDER BY w.rowid
LIMIT :window
