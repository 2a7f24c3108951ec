-- A window of all rows, each with its rowid and all columns, in the order of rowids.
SELECT h.rowid, h.*
FROM duetime_history AS h
WHERE h.rowid > :rowid
ORDER BY h.rowid
LIMIT :window
