-- Delete bulks whose last step was long ago. A small table: read as a whole.
DELETE FROM duetime_bulks
WHERE taken_at < :now - :keep_bulk
