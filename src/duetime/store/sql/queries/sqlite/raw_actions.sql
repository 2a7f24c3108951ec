-- A window of all rows, each with its rowid and all columns, in the order of rowids.
SELECT a.rowid, a.*
FROM duetime_actions AS a
WHERE a.rowid > :rowid
ORDER BY a.rowid
LIMIT :window
