-- Delete a row by its rowid.
DELETE FROM duetime_tracebacks
WHERE rowid = :rowid
