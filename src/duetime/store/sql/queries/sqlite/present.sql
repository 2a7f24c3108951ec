-- This worker is alive. Index: primary key of workers.
INSERT INTO duetime_workers (
    id, app, host, pid, kinds, queues, concurrency, started_at, seen_at
)
VALUES (:worker, :app, :host, :pid, :kinds, :queues, :concurrency, :now, :now)
ON CONFLICT (id) DO UPDATE
    SET
        kinds = excluded.kinds,
        queues = excluded.queues,
        concurrency = excluded.concurrency,
        seen_at = excluded.seen_at
