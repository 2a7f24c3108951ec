-- Delete every worker.
DELETE FROM duetime_workers
