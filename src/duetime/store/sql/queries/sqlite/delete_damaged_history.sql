-- Delete a row by its rowid.
DELETE FROM duetime_history
WHERE rowid = :rowid
