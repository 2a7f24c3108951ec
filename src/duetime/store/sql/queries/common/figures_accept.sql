-- Note that a batch of a worker is added; no row if it was before, or if the worker is unknown.
-- A number that is far too large was not added: the batches of a worker are numbered one by one.
-- Index: primary key of workers.
UPDATE duetime_workers
SET figures_added = :number
WHERE
    id = :worker
    AND CASE
        WHEN figures_added BETWEEN 0 AND :number + 1000000 THEN figures_added ELSE 0
    END < :number
RETURNING 1
