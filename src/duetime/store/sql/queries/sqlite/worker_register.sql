-- Insert or update a worker's row; return since when it is registered.
-- Index: primary key of workers.
INSERT INTO duetime_workers (
    id, app, host, pid, kinds, jobs, queues, concurrency, started_at, seen_at
)
VALUES (:worker, :app, :host, :pid, :kinds, :jobs, :queues, :concurrency, :now, :now)
ON CONFLICT (id) DO UPDATE
    SET
        kinds = excluded.kinds,
        jobs = excluded.jobs,
        queues = excluded.queues,
        concurrency = excluded.concurrency,
        seen_at = excluded.seen_at
RETURNING started_at
