-- A worker that introduced itself is alive; since when it is there. Index: primary key of workers.
UPDATE duetime_workers
SET seen_at = :now
WHERE id = :worker
RETURNING started_at
