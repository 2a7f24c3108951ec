-- A window of all rows in the order of rowids: of each its rowid and its id.
SELECT g.rowid, g.id
FROM duetime_grants AS g
WHERE g.rowid > :rowid
ORDER BY g.rowid
LIMIT :window
