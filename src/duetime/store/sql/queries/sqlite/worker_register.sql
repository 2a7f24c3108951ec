-- Insert or update a worker's row; return since when it is registered.
-- Index: primary key of workers.
INSERT INTO duetime_workers (
    id, app, host, pid, kinds, jobs, queues, concurrency, started_at, seen_at, health,
    code_version, slots
)
VALUES (
    :worker, :app, :host, :pid, :kinds, :jobs, :queues, :concurrency, :now, :now, :health,
    :code_version, :slots
)
ON CONFLICT (id) DO UPDATE
    SET
        kinds = excluded.kinds,
        jobs = excluded.jobs,
        queues = excluded.queues,
        concurrency = excluded.concurrency,
        seen_at = excluded.seen_at,
        health = excluded.health,
        slots = excluded.slots
RETURNING started_at
