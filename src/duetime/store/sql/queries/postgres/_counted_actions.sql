-- Of each lane, and of the actions without one, those that are due first, as many as make about
-- :window together; and whether these are all. Index: actions_due.
WITH RECURSIVE {{lanes}},
share AS MATERIALIZED (
    SELECT greatest(:window / count(*), 100) AS size FROM lanes
)
SELECT
    x.*, CASE WHEN count(*) OVER (PARTITION BY x.lane) = share.size THEN 1 ELSE 0 END AS capped
FROM share
CROSS JOIN LATERAL (
    SELECT f.*
    FROM lanes AS l
    CROSS JOIN LATERAL (
        SELECT b.id, b.lane, b.queue, b.tenant, b.token, b.due_at, b.lease_until, b.after
        FROM duetime_actions AS b
        WHERE b.lane = l.lane
        ORDER BY b.due_at
        LIMIT share.size
    ) AS f
    UNION ALL
    SELECT n.*
    FROM (
        SELECT c.id, c.lane, c.queue, c.tenant, c.token, c.due_at, c.lease_until, c.after
        FROM duetime_actions AS c
        WHERE c.lane IS NULL
        ORDER BY c.due_at
        LIMIT share.size
    ) AS n
) AS x
