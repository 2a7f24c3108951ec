-- Note that a registered worker is alive; return since when it is registered.
-- Index: primary key of workers.
UPDATE duetime_workers
SET seen_at = :now
WHERE id = :worker
RETURNING started_at
