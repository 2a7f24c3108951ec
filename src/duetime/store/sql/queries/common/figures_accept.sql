-- Note that a batch of a worker is added; no row if it was before, or if the worker is unknown.
-- Index: primary key of workers.
UPDATE duetime_workers
SET figures_added = :number
WHERE id = :worker AND coalesce(figures_added, 0) < :number
RETURNING 1
