-- A window of all rows in the order of rowids: of each its rowid and its id.
SELECT x.rowid, x.id
FROM duetime_api_keys AS x
WHERE x.rowid > :rowid
ORDER BY x.rowid
LIMIT :window
