-- Of each lane, and of the actions without one, those that are due first, as many as make about
-- :window together; and whether these are all. Indexes: actions_due, rowid of actions.
WITH RECURSIVE {{lanes}},
share AS MATERIALIZED (
    SELECT max(:window / count(*), 100) AS size FROM lanes
)
SELECT
    x.*, CASE WHEN count(*) OVER (PARTITION BY x.lane) = share.size THEN 1 ELSE 0 END AS capped
FROM (
    SELECT f.id, f.lane, f.queue, f.tenant, f.token, f.due_at, f.lease_until, f.after
    FROM lanes AS l
    CROSS JOIN duetime_actions AS f
    WHERE f.rowid IN (
        SELECT b.rowid
        FROM duetime_actions AS b
        WHERE b.lane = l.lane
        ORDER BY b.due_at
        LIMIT (SELECT s.size FROM share AS s)
    )
    UNION ALL
    SELECT n.*
    FROM (
        SELECT c.id, c.lane, c.queue, c.tenant, c.token, c.due_at, c.lease_until, c.after
        FROM duetime_actions AS c
        WHERE c.lane IS NULL
        ORDER BY c.due_at
        LIMIT (SELECT s.size FROM share AS s)
    ) AS n
) AS x
CROSS JOIN share
