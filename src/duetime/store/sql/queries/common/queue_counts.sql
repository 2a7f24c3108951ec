-- Unfinished actions counted by queue; parked ones are not overdue. No index: reads the table once,
-- which holds no others.
SELECT
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
