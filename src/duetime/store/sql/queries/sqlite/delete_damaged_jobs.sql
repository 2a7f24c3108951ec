-- Delete a row by its rowid.
DELETE FROM duetime_jobs
WHERE rowid = :rowid
