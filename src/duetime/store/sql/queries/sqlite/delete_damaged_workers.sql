-- Delete a row by its rowid.
DELETE FROM duetime_workers
WHERE rowid = :rowid
