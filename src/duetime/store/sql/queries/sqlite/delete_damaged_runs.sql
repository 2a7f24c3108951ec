-- Delete a row by its rowid.
DELETE FROM duetime_runs
WHERE rowid = :rowid
