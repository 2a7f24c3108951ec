-- Workers that were seen lately. No index: there are few workers.
SELECT w.id, w.app, w.host, w.pid, w.kinds, w.jobs, w.queues, w.concurrency, w.seen_at,
    w.health, w.started_at, w.code_version, w.slots
FROM duetime_workers AS w
WHERE w.seen_at >= :now - :alive
