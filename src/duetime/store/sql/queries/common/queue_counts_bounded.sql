-- Unfinished actions counted by queue, as far as they are counted, and whether more were not;
-- parked ones are not overdue. Index: actions_due.
SELECT
    CAST(a.queue AS text),
    count(*) FILTER (WHERE a.token IS NULL),
    count(*) FILTER (WHERE a.token IS NOT NULL),
    count(*) FILTER (
        WHERE a.token IS NULL AND a.due_at <= :now AND substr(coalesce(a.lane, ''), 1, 2) <> 'p.'
    ),
    min(a.due_at) FILTER (
        WHERE a.token IS NULL AND a.due_at <= :now AND substr(coalesce(a.lane, ''), 1, 2) <> 'p.'
    ),
    max(a.capped)
FROM ({{counted_actions}}) AS a
GROUP BY a.queue
