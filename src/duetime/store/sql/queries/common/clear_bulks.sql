-- Delete every bulk.
DELETE FROM duetime_bulks
