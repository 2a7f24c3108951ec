-- Delete a row by its rowid.
DELETE FROM duetime_actions
WHERE rowid = :rowid
