-- Note that a registered worker is alive, and its health; return since when it is registered.
-- Index: primary key of workers.
UPDATE duetime_workers
SET seen_at = :now, health = :health
WHERE id = :worker
RETURNING started_at
