-- The lanes, and the next due time of each. The limit is a subquery and the condition is inside a
-- CASE: otherwise PostgreSQL assumes, for a table not analysed yet, that hardly any row is free,
-- and reads and sorts a whole lane.
lanes AS (
    SELECT min(a.lane) AS lane FROM duetime_actions AS a
    UNION ALL
    SELECT (SELECT min(a.lane) FROM duetime_actions AS a WHERE a.lane > l.lane)
    FROM lanes AS l
    WHERE l.lane IS NOT NULL
),
heads AS (
    SELECT
        l.lane,
        (
            SELECT a.due_at
            FROM duetime_actions AS a
            WHERE a.lane = l.lane AND CASE WHEN a.token IS NULL THEN true END
            ORDER BY a.due_at
            LIMIT (SELECT 1)
        ) AS next_due
    FROM lanes AS l
    WHERE l.lane IS NOT NULL
)
