-- Delete a worker's row. Index: primary key of workers.
DELETE FROM duetime_workers
WHERE id = :worker
