-- Note that a registered worker is alive, its health and the use of its slots; return since when it
-- is registered.
-- Index: primary key of workers.
UPDATE duetime_workers
SET seen_at = :now, health = :health, slots = :slots
WHERE id = :worker
RETURNING started_at
