-- What gauges show: unfinished actions by queue, the paused queues, the queues of living workers.
-- The first column says which; the last row is always there. No index: reads the table of actions
-- once, and there are few queues and workers.
SELECT
    'queue',
    CAST(a.queue AS text),
    count(*) FILTER (WHERE a.token IS NULL),
    count(*) FILTER (WHERE a.token IS NOT NULL),
    count(*) FILTER (
        WHERE a.token IS NULL AND a.due_at <= :now AND substr(coalesce(a.lane, ''), 1, 2) <> 'p.'
    ),
    min(a.due_at) FILTER (
        WHERE a.token IS NULL AND a.due_at <= :now AND substr(coalesce(a.lane, ''), 1, 2) <> 'p.'
    )
FROM duetime_actions AS a
GROUP BY a.queue
UNION ALL
SELECT 'paused', q.name, 0, 0, 0, NULL
FROM duetime_queues AS q
WHERE q.paused_at IS NOT NULL AND (q.paused_until IS NULL OR q.paused_until > :now)
UNION ALL
SELECT 'worker', w.queues, 0, 0, 0, NULL
FROM duetime_workers AS w
WHERE w.seen_at >= :now - :alive
UNION ALL
SELECT 'now', '', 0, 0, 0, CAST(:now AS bigint)
